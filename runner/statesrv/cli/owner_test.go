package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Root changes nothing in a directory of another user, and may read there.
func TestRootInTheDirectoryOfAnother(t *testing.T) {
	data := t.TempDir()
	state := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(state, []byte(`{"version":4,"serial":2,"lineage":"l"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (code int, said string) {
		var out, err bytes.Buffer
		a := &App{Out: &out, Err: &err, Getenv: func(string) string { return "" }, Who: "root@here"}
		return a.Run(t.Context(), append(args, "--data", data)), out.String() + err.String()
	}
	if code, said := run("push", "s", state); code != exitOK {
		t.Fatal(said)
	}
	from := t.TempDir()
	if err := os.CopyFS(from, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	before := listing(t, data)
	if err := os.Chown(data, 12345, 12345); err != nil {
		t.Fatalf("give the directory away (the tests run as root): %v", err)
	}
	for _, args := range [][]string{
		{"lock", "s"}, {"unlock", "s", "--id", "x"}, {"force-unlock", "s", "--any", "--yes"},
		{"push", "s", state, "--force"}, {"restore", "s", "--version", "1"}, {"lock", "new"},
	} {
		if code, said := run(args...); code != exitFailed || !strings.Contains(said, "sudo -u '#12345'") {
			t.Errorf("%q: exit %d, %q, want that it is for the owner", args, code, said)
		}
	}
	for _, args := range [][]string{{"status", "s"}, {"history", "s"}, {"events", "s"}, {"pull", "s"}, {"ls"}} {
		if code, said := run(args...); code != exitOK {
			t.Errorf("%q: exit %d, %q", args, code, said)
		}
	}
	for _, args := range [][]string{{"serve", "--data", data, "--port", "0"}, {"copy", "dir:" + from, "dir:" + data}} {
		var out, err bytes.Buffer
		a := &App{Out: &out, Err: &err, Getenv: func(string) string { return "" }, Who: "root@here"}
		// A server that starts all the same ends at once.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if code := a.Run(ctx, args); code != exitFailed || !strings.Contains(err.String(), "sudo -u '#12345'") {
			t.Errorf("%q: exit %d, %q, want that it is for the owner", args, code, err.String())
		}
		cancel()
	}
	if after := listing(t, data); after != before {
		t.Errorf("it changed something: %s, before %s", after, before)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, " ")
}
