package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	tfjson "github.com/hashicorp/terraform-json"
)

// ShowPlan reads a saved plan. Its numbers are json.Number, exact. A plan that the runtime does not show is nil, and the
// exit and the output say why; the error says that it could not be asked, or what it showed could not be read. The plan
// as JSON is kept in a file beside the saved plan while the runtime writes it: it may have tens of megabytes, which the
// runner must not hold while the runtime needs the memory.
func (r *Runtime) ShowPlan(ctx context.Context, file string) (*tfjson.Plan, Exit, *Output, error) {
	shown := file + ".json"
	defer os.Remove(shown) // it holds every input
	exit, output, err := r.captureFile(ctx, Args{}.Show(file), shown)
	if err != nil || exit.Code != 0 {
		return nil, exit, output, err
	}
	plan, err := readPlan(shown)
	return plan, exit, output, err
}

func readPlan(path string) (*tfjson.Plan, error) {
	document, err := os.ReadFile(path)
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
func (r *Runtime) captureFile(ctx context.Context, args []string, path string) (Exit, *Output, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return Exit{Code: -1}, nil, err
	}
	kept := &keeper{file: file}
	exit, output, err := r.capture(ctx, args, kept)
	closing := file.Close()
	return exit, output, cmp.Or(err, kept.err, closing)
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

// capture runs a command whose standard output is a document. What else it says is its output.
func (r *Runtime) capture(ctx context.Context, args []string, document io.Writer) (Exit, *Output, error) {
	output := &Output{}
	stderr := newLines(output.text.add)
	p := r.process(args)
	p.Stdout, p.Stderr = document, stderr
	exit, err := p.Run(ctx, r.Stop)
	stderr.Flush()
	if err != nil {
		exit.Code = -1
	}
	return exit, output, err
}

// killable is capture for a command that changes nothing: it is killed, with its group, as soon as ctx ends.
func (r *Runtime) killable(ctx context.Context, args []string, document io.Writer) (Exit, *Output, error) {
	stop := NewStop(0)
	defer context.AfterFunc(ctx, func() { stop.Request(context.Cause(ctx)) })()
	return r.WithStop(stop).capture(context.Background(), args, document)
}
