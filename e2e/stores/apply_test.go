package stores

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// TestApplyThroughTwoServers applies again and again, with real clients whose reads
// and writes go to one server and whose locks go to the other, in turns.
func TestApplyThroughTwoServers(t *testing.T) {
	onPlaces(t, func(t *testing.T, p place) {
		servers := p.servers(t)
		for _, runtime := range tools.Runtimes(t) {
			t.Run(runtime.Name, func(t *testing.T) { testApplies(t, runtime, servers) })
		}
	})
}

func testApplies(t *testing.T, runtime tools.Runtime, servers []string) {
	name := "turns-" + runtime.Name
	state := func(server int) string { return servers[server%2] + "/states/" + name }
	r := newRoot(t, runtime, state(0))
	env := r.env
	texts := []string{"one", "two", "three", "four"}
	for i, text := range texts {
		r.env = append(env[:len(env):len(env)], "TF_HTTP_ADDRESS="+state(i), "TF_HTTP_LOCK_ADDRESS="+state(i+1), "TF_HTTP_UNLOCK_ADDRESS="+state(i))
		r.ok(t, apply(text)...)
		for server := range servers {
			if got, err := pull(at(t, servers[server], name).Pull(t.Context(), 0)); err != nil || !strings.Contains(string(got), `"`+text+`"`) {
				t.Errorf("after the apply of %q, server %d has %q, %v", text, server, got, err)
			}
		}
	}
	r.ok(t, "destroy", "-no-color", "-auto-approve")
	st, err := at(t, servers[0], name).Status(t.Context())
	if err != nil || st.Lock != nil || st.Current == nil || st.Versions < len(texts)+1 || int(st.Current.Number) != st.Versions {
		t.Errorf("afterwards: %+v, %v; want a version for each, and no lock", st, err)
	}
}
