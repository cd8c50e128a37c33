package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"

	"github.com/captf/captf-runner/runner/result"
)

// waitDelay bounds a command of terraform-exec after its SIGINT. None of these changes anything, so
// none is worth a long wait.
const waitDelay = 10 * time.Second

func newTerraformExec(dir, path string, env Environ, stop *Stop) (*tfexec.Terraform, error) {
	tf, err := tfexec.NewTerraform(dir, path)
	if err != nil {
		return nil, fmt.Errorf("terraform-exec: %w", err)
	}
	if err := tf.SetEnv(env.forTerraformExec()); err != nil {
		return nil, fmt.Errorf("terraform-exec: %w", err)
	}
	return tf, tf.SetWaitDelay(stop.waitDelay())
}

// waitDelay is how long a command of terraform-exec has after its SIGINT. 0 would mean to wait for ever.
func (s *Stop) waitDelay() time.Duration {
	return max(min(waitDelay, newLadder(s.budget).kill), time.Millisecond)
}

// interruptible runs a command of terraform-exec under a context that ends with the stop. After the wait delay
// terraform-exec kills the process that it started, and then waits for whoever else holds its output: the whole group
// has to go.
func (r *Runtime) interruptible(ctx context.Context, command func(context.Context) error) error {
	ctx, cancel := r.Stop.Context(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		select {
		case <-ended:
		case <-time.After(r.Stop.waitDelay()):
			killChildren()
		}
	}()
	err := command(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // and not err, see firstLine
	}
	return err
}

// Version asks the runtime for its version. What is no version is an error: such a program is no
// runtime.
func (r *Runtime) Version(ctx context.Context) (*version.Version, error) {
	if r.tf != nil {
		var v *version.Version
		err := r.interruptible(ctx, func(ctx context.Context) (err error) { v, _, err = r.tf.Version(ctx, true); return err })
		return v, firstLine(err)
	}
	ctx, cancel := r.Stop.Context(ctx)
	defer cancel()
	var stdout bytes.Buffer
	switch exit, output, err := r.capture(ctx, Args{}.Version(), &stdout); {
	case err != nil:
		return nil, err
	case exit.Code != 0:
		return nil, fmt.Errorf("version: exit %d: %s", exit.Code, lastLines(output.Text(), 3))
	}
	var out tfjson.VersionOutput
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		return nil, err
	}
	return version.NewVersion(out.Version)
}

// ForceUnlock releases a lock by its ID. It gives the exit and what the command printed about its failure; the error
// says that the command could not be run or was interrupted.
func (r *Runtime) ForceUnlock(ctx context.Context, id string) (exit Exit, text string, err error) {
	start := time.Now()
	defer func() { exit.Duration = time.Since(start) }()
	if r.tf == nil {
		exit, output, err := r.Run(ctx, Args{}.ForceUnlock(id), Discard)
		return exit, output.Text(), err
	}
	err = r.interruptible(ctx, func(ctx context.Context) error { return r.tf.ForceUnlock(ctx, id) })
	if err == nil {
		return Exit{}, "", nil
	}
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		return Exit{Code: -1}, "", err
	}
	_, text, _ = strings.Cut(err.Error(), "\n")
	return exitOf(failed.ProcessState, Exit{}), result.Plain(text), nil
}

// maxMessage is the most of such an error that is worth a log line, in bytes.
const maxMessage = 256

// firstLine keeps an error to one line: terraform-exec adds all of stderr, or all of what it could not parse.
func firstLine(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// terraform-exec's own error for a context that has ended may wrap nil, and panic when it is printed.
		return context.Canceled
	}
	line, _, more := strings.Cut(err.Error(), "\n")
	if len(line) > maxMessage {
		line, more = strings.ToValidUTF8(line[:maxMessage], "")+"…", true
	}
	if !more {
		return err
	}
	return errors.New(line)
}

// Discard is a Sink for a step whose output is a document, not a log.
var Discard Sink = discard{}

type discard struct{}

func (discard) Event(Event, *Output) {}
func (discard) Text(string)          {}
