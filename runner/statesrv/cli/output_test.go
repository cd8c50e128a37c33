package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command whose output gets lost fails. After lock the state is locked, so it
// tells the ID elsewhere.
func TestOutputLost(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(data, "state")
	if err := os.WriteFile(file, []byte(`{"version":4,"serial":1,"lineage":"l"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	lost, err := os.Create(filepath.Join(data, "out"))
	if err != nil {
		t.Fatal(err)
	}
	lost.Close()
	states := filepath.Join(data, "states")
	if err := os.Mkdir(states, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"push", "s", file}, {"pull", "s"}, {"status", "s"}, {"history", "s"}, {"history", "-o", "json", "s"},
		{"events", "s"}, {"events", "-f", "s"}, {"ls"}, {"explain", "s"}, {"lock", "s"}, {"force-unlock", "--any", "--yes", "s"}, {"lock", "-o", "json", "s"},
		{"version"}, {"help"},
	} {
		if args[0] != "version" && args[0] != "help" {
			args = append(args, "--data", states)
		}
		var said bytes.Buffer
		a := &App{Out: lost, Err: &said, Getenv: func(string) string { return "" }}
		if code := a.Run(t.Context(), args); code != exitFailed || strings.Count(said.String(), "the output is not complete") != 1 {
			t.Errorf("%q: exit %d, want %d, and it says %q", args, code, exitFailed, said.String())
		}
		if args[0] == "lock" && !strings.Contains(said.String(), heldID(t, a, states)) {
			t.Errorf("%q does not say the lock's ID: %q", args, said.String())
		}
	}
}

func heldID(t *testing.T, a *App, data string) string {
	t.Helper()
	store, states, err := a.openData(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	st, err := states.Status(t.Context(), "s")
	if err != nil || st.Lock == nil {
		t.Fatalf("not locked: %+v, %v", st, err)
	}
	return st.Lock.Info.ID
}

// Every object that a program reads has keys of one kind.
func TestPushForAProgram(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(file, []byte(`{"version":4,"serial":1,"lineage":"l"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	a := &App{Out: &out, Err: &said, Getenv: func(string) string { return "" }}
	code := a.Run(t.Context(), []string{"push", "-o", "json", "--data", data, "s", file})
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &keys); err != nil || code != exitOK || keys["version"] == nil || string(keys["unchanged"]) != "false" {
		t.Errorf("exit %d, %v: %s%s", code, err, out.String(), said.String())
	}
}

// TestNameThatIsNotThere: it may be misspelt, and "not locked" would be the wrong thing to know.
func TestNameThatIsNotThere(t *testing.T) {
	states := t.TempDir()
	for _, command := range []string{"status", "history", "events"} {
		var out, said bytes.Buffer
		a := &App{Out: &out, Err: &said, Getenv: func(string) string { return "" }}
		if code := a.Run(t.Context(), []string{command, "--data", states, "prdo"}); code != 0 || !strings.Contains(said.String(), "statesrv ls lists the states") {
			t.Errorf("%s: exit %d, and it says %q", command, code, said.String())
		}
	}
}
