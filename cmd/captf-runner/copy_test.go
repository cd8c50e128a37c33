package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/runner/result"
)

// A container may start the file at any moment: whatever it finds there must be whole.
func TestInstallFileIsAtomic(t *testing.T) {
	dir := t.TempDir()
	from := make([]string, 2)
	for i := range from {
		from[i] = filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(from[i], bytes.Repeat([]byte{byte('a' + i)}, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dest := filepath.Join(dir, "dest")
	if err := installFile(from[0], dest); err != nil {
		t.Fatal(err)
	}
	installed := make(chan error, 1)
	go func() {
		defer close(installed)
		for i := range 10 {
			if err := installFile(from[i%2], dest); err != nil {
				installed <- err
			}
		}
	}()
	for more := true; more; {
		select {
		case err, open := <-installed:
			if more = open; err != nil {
				t.Fatal(err)
			}
		default:
			checkWhole(t, dest)
		}
	}
}

func checkWhole(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) != 1<<20 || bytes.Count(content, content[:1]) != len(content) {
		t.Fatalf("found %d bytes, %d of them %q: not one whole file", len(content), bytes.Count(content, content[:1]), content[:1])
	}
}

// TestCopyOverDevice has a destination that is no file: the copy must not take its place. A named pipe stands for a
// device, which only root can make.
func TestCopyOverDevice(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := copySelf([]string{pipe}, io.Discard, &stderr); code != result.ExitFailed {
		t.Errorf("exit %d, want %d: %s", code, result.ExitFailed, &stderr)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe is gone: %v, %v", info, err)
	}
}
