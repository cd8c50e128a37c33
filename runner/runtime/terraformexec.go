package runtime

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/captf/captf-runner/runner/result"
)

// waitDelay bounds a command of terraform-exec after its SIGINT. It changes nothing that is worth a long wait.
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
	forget := context.AfterFunc(ctx, func() {
		select {
		case <-ended:
		case <-time.After(r.Stop.waitDelay()):
			killChildren()
		}
	})
	defer forget()
	err := command(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // terraform-exec's own error may wrap nil, and panic when it is printed
	}
	return err
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

// Discard is a Sink for a step whose output is a document, not a log.
var Discard Sink = discard{}

type discard struct{}

func (discard) Event(Event, *Output) {}
func (discard) Text(string)          {}
