package cli

import (
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
)

// What a caller says of itself is not whom it has logged in as: both are shown.
func TestCallerOf(t *testing.T) {
	for _, c := range []struct {
		who, user, want string
	}{
		{"ann@one", "ci", "ann@one (user ci)"},
		{"ann@one", "", "ann@one"},
		{"ann@one", "ann@one", "ann@one"},
		{"", "ci", "ci"},
		{"", "", "192.0.2.1"},
	} {
		ev := statesrv.Event{Who: c.who, By: statesrv.Caller{User: c.user, Addr: "192.0.2.1"}}
		if got := callerOf(ev); got != c.want {
			t.Errorf("who %q, user %q: %q, want %q", c.who, c.user, got, c.want)
		}
	}
}

// A lock that somebody else releases, who knows its ID, is told to be another's.
func TestOutcomeOfUnlock(t *testing.T) {
	ev := statesrv.Event{Action: statesrv.ActionUnlock, LockID: "a", Holder: "a", HolderWho: "ann@one", Who: "ann@one"}
	if got := outcome(ev); got != "lock a" {
		t.Errorf("by its holder: %q", got)
	}
	ev.Who = "bob@two"
	if got := outcome(ev); got != "lock a of ann@one" {
		t.Errorf("by another: %q", got)
	}
}
