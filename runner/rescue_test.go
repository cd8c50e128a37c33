package runner

import (
	"regexp"
	"strings"
	"testing"
)

// TestNewUnsavedState reads states that a runtime could not save: none may be pushed over a state of another lineage, and
// without a lineage of its own it would be.
func TestNewUnsavedState(t *testing.T) {
	const first = `{"version":4,"terraform_version":"1.12.6","serial":0,"lineage":"","outputs":{},"resources":[]}`
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	state, ok := newUnsavedState([]byte(first))
	if !ok || !uuid.MatchString(state.lineage) || !strings.Contains(string(state.bytes), `"lineage":"`+state.lineage+`"`) {
		t.Errorf("a first state became %s with lineage %q, want a lineage", state.bytes, state.lineage)
	}
	if again, _ := newUnsavedState([]byte(first)); again.lineage == state.lineage {
		t.Errorf("two states have the lineage %s", again.lineage)
	}
	for text, lineage := range map[string]string{
		`{"version":4,"serial":7,"lineage":"l","resources":[]}`: "l",
		`{"serial":1,"lineage":"","encrypted_data":"x"}`:        "",
	} {
		if state, ok := newUnsavedState([]byte(text)); !ok || string(state.bytes) != text || state.lineage != lineage {
			t.Errorf("%s became %s with lineage %q, want it as it is", text, state.bytes, state.lineage)
		}
	}
	for _, text := range []string{"", first[:20], "[]", "null", "{}", `{"serial":1}`} {
		if state, ok := newUnsavedState([]byte(text)); ok {
			t.Errorf("%q is the state %s", text, state.bytes)
		}
	}
}
