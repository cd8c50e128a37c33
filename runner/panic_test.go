package runner

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// faulty is a log handler with a fault: the first thing that is logged panics.
type faulty struct{ slog.Handler }

func (faulty) Enabled(context.Context, slog.Level) bool { return true }

func (faulty) Handle(context.Context, slog.Record) error { panic("a fault") }

// A fault of the runner itself is not hidden, and what was known before it is in the result.
func TestPanicLeavesPartialResult(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "result.json")
	o := Options{
		Op: naming.Apply, Module: dir, Config: dir, Workdir: filepath.Join(dir, "work"), Bin: []string{"sh"},
		Backend: "http", Result: file, Image: "registry.test/module:v1",
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	host := Host{Out: io.Discard, Log: slog.New(faulty{slog.DiscardHandler}), Stop: runtime.NewStop(0)}
	fault := func() (fault any) {
		defer func() { fault = recover() }()
		_, err := Run(t.Context(), o, host)
		t.Errorf("Run returned, with error %v", err)
		return nil
	}()
	if fault != "a fault" {
		t.Errorf("panicked with %v, want the fault itself", fault)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Decode(data)
	if err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	if !r.Partial || r.Succeeded() || r.ExitCode() != result.ExitRetry || r.Image.Ref != o.Image {
		t.Errorf("result = %s, want a partial one of this run", data)
	}
}
