package statesrv_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// What a user tried to change and may not is an event of the state, if there is one. Reading is none.
func TestForbiddenIsAnEvent(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	mustWrite(t, states, "team", "", doc(1, "l"))
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: readerOf("team")}))
	defer server.Close()
	for i, st := range []step{
		{method: "POST", path: "/states/team", body: doc(2, "l"), status: 403},
		{method: "DELETE", path: "/states/team", status: 403},
		{method: "LOCK", path: "/states/team", body: lockA, status: 403},
		{method: "DELETE", path: "/states/team/lock", status: 403},
		{method: "POST", path: "/states/team/restore?version=1", status: 403},
		{method: "GET", path: "/states/team", status: 200},
		{method: "POST", path: "/states/nothing", body: doc(1, "l"), status: 403},
	} {
		st.run(t, i+1, server)
	}
	want := []string{"write ", "write reader 403", "delete reader 403", "lock reader 403", "unlock reader 403", "restore reader 403"}
	if diff := cmp.Diff(want, eventsOf(t, states, "team")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := eventsOf(t, states, "nothing"); len(got) > 0 {
		t.Errorf("a state that is not there has the events %q", got)
	}
}

// eventsOf are the actions, the users and the refusals.
func eventsOf(t *testing.T, states *statesrv.States, name string) (all []string) {
	t.Helper()
	page, err := states.Events(t.Context(), name, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range page.Events {
		text := fmt.Sprintf("%s %s", ev.Action, ev.By.User)
		if ev.Status > 0 {
			text += fmt.Sprintf(" %d", ev.Status)
		}
		all = append(all, text)
	}
	return all
}
