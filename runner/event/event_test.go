package event_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/captf/captf-runner/runner/event"
)

func TestNew(t *testing.T) {
	for reason, want := range map[event.Reason]string{
		event.ForceUnlocked: event.Warning, event.StateLocked: event.Warning, event.StateBackupFailed: event.Warning, "New": event.Warning,
		event.OwnerReferencesRepaired: event.Normal, event.StateBackedUp: event.Normal, event.StateDeleted: event.Normal,
	} {
		if got := event.New(reason, "x"); got.Type != want || got.Reason != reason {
			t.Errorf("%s: got %+v, want type %s", reason, got, want)
		}
	}
}

// The API server refuses a message of more than 1024 bytes, and a terminal obeys what a lock's holder wrote about itself.
func TestNewMessage(t *testing.T) {
	got := event.New(event.StateLocked, "held by %s", "\x1b[31m"+strings.Repeat("ü", 1000)).Message
	if len(got) > 1024 || len(got) < 1022 || !utf8.ValidString(got) || strings.Contains(got, "\x1b") || !strings.HasSuffix(got, "[cut]") {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
}
