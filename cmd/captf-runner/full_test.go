package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/captf/captf-runner/runner/result"
)

// TestLostOutputIsAFailure has commands that do nothing but print, on a full disk.
func TestLostOutputIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	dir := t.TempDir()
	root := filepath.Join(dir, "main.tf.json")
	if err := os.WriteFile(root, []byte(`{"terraform":{"backend":{"http":{}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"version"}, {"version", "-o", "json"},
		{"run", "--dry-run", "--op", "apply", "--bin", "/bin/sh", "--module", dir, "--config", dir},
	} {
		var stderr bytes.Buffer
		if code := run(args, os.Environ(), full, &stderr); code != result.ExitFailed || !bytes.Contains(stderr.Bytes(), []byte("no space left")) {
			t.Errorf("%q: exit %d, want %d: %s", args, code, result.ExitFailed, &stderr)
		}
	}
}
