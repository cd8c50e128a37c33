package runner

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// Every error has its kind and reason, however deep it is wrapped.
func TestAsFailure(t *testing.T) {
	stopped, late := runtime.NewStop(time.Minute), runtime.NewStop(time.Minute)
	stopped.Request(ErrSignal)
	late.Request(errDeadline)
	of := func(kind result.Kind, reason result.Reason) *failure { return &failure{kind: kind, reason: reason} }
	tests := map[string]struct {
		err  error
		stop *runtime.Stop
		want *failure
		says string
	}{
		"a failure":           {of(result.KindBlocked, result.ReasonConfig), nil, of(result.KindBlocked, result.ReasonConfig), ""},
		"usage":               {usagef("no flag"), nil, of(result.KindStep, result.ReasonUsage), "no flag"},
		"layout":              {layoutf("no module"), nil, of(result.KindImageLayout, result.ReasonConfig), "no module"},
		"no program":          {runtime.ErrNotExecutable, nil, of(result.KindImageLayout, result.ReasonConfig), runtime.ErrNotExecutable.Error()},
		"no room":             {syscall.ENOSPC, nil, of(result.KindStep, result.ReasonDisk), syscall.ENOSPC.Error()},
		"anything else":       {errors.New("odd"), nil, of(result.KindStep, result.ReasonConfig), "odd"},
		"a signal":            {errors.New("odd"), stopped, of(result.KindInterrupted, ""), "the run was asked to stop: signal received"},
		"the deadline":        {errors.New("odd"), late, of(result.KindInterrupted, result.ReasonDeadline), "the run was asked to stop: deadline reached"},
		"cancelled":           {context.Canceled, nil, of(result.KindInterrupted, ""), "the run was asked to stop: context canceled"},
		"usage while it ends": {usagef("no flag"), stopped, of(result.KindStep, result.ReasonUsage), "no flag"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.stop == nil {
				tt.stop = runtime.NewStop(time.Minute)
			}
			for _, err := range []error{tt.err, fmt.Errorf("wrapped: %w", tt.err)} {
				got := asFailure(err, tt.stop)
				if got.kind != tt.want.kind || got.reason != tt.want.reason {
					t.Errorf("%v: got %s, reason %q, want %s, reason %q", err, got.kind, got.reason, tt.want.kind, tt.want.reason)
				}
				if err == tt.err && tt.says != "" && got.Error() != tt.says {
					t.Errorf("got %q, want %q", got, tt.says)
				}
			}
		})
	}
}

func TestFailureNamesItsStep(t *testing.T) {
	f := &failure{step: "apply", err: errors.New("exit 1")}
	if got := f.Error(); got != "apply: exit 1" {
		t.Errorf("got %q", got)
	}
}

// A resource that failed without an error of its own has the one that names none.
func TestFailedResources(t *testing.T) {
	out := &runtime.Output{
		Errors: []runtime.Diagnostic{{Summary: "no quota", Address: "a.b"}, {Summary: "plugin crashed"}, {Summary: "and more"}},
		Changes: []runtime.Started{
			{Address: "a.b", Ended: true, Failed: true}, {Address: "a.c", Failed: true}, {Address: "a.d", Ended: true}, {Address: "a.e"},
		},
	}
	want := []result.ErrorResource{{Address: "a.b", Summary: "no quota"}, {Address: "a.c", Summary: "plugin crashed"}}
	if diff := cmp.Diff(want, failedResources(out)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
