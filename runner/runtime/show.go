package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	tfjson "github.com/hashicorp/terraform-json"
)

// ShowPlan reads a saved plan. Its numbers are json.Number, exact. The plan as JSON is kept in a file
// beside the saved plan while the runtime writes it: it may have tens of megabytes, which the runner must
// not hold while the runtime needs the memory.
func (r *Runtime) ShowPlan(ctx context.Context, file string) (*tfjson.Plan, error) {
	ctx, cancel := r.Stop.Context(ctx)
	defer cancel()
	shown := file + ".json"
	defer os.Remove(shown) // it holds every input
	if err := r.captureFile(ctx, Args{}.Show(file), shown); err != nil {
		return nil, err
	}
	document, err := os.ReadFile(shown)
	if err != nil {
		return nil, err
	}
	var plan tfjson.Plan
	plan.UseJSONNumber(true)
	if err := json.Unmarshal(document, &plan); err != nil {
		return nil, fmt.Errorf("plan as JSON: %w", err)
	}
	return &plan, nil // Unmarshal has checked the version of the format
}

// captureFile is capture into a file that only its owner can read.
func (r *Runtime) captureFile(ctx context.Context, args []string, path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	kept := &keeper{file: file}
	err = r.capture(ctx, args, kept)
	closing := file.Close()
	for _, err := range []error{err, kept.err, closing} {
		if err != nil {
			return err
		}
	}
	return nil
}

// keeper remembers that its file took no more: a process goes on when its output cannot be kept.
type keeper struct {
	file *os.File
	err  error
}

func (k *keeper) Write(p []byte) (int, error) {
	n, err := k.file.Write(p)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

// capture runs a command whose standard output is a document.
func (r *Runtime) capture(ctx context.Context, args []string, document io.Writer) error {
	text := textBuffer{}
	stderr := NewLines(text.add)
	p := Process{
		Command: append(r.Command[:len(r.Command):len(r.Command)], args...),
		Dir:     r.Dir, Env: r.Env.Vars, Stdout: document, Stderr: stderr,
	}
	exit, err := p.Run(ctx, r.Stop)
	stderr.Flush()
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("%s: exit %d: %s", args[0], exit.Code, lastLines(text.String(), 3))
	}
	return err
}
