package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/result"
)

// say writes a line for people. Results go to Out alone.
func (e Env) say(format string, args ...any) {
	fmt.Fprintln(e.Err, table.Printable(fmt.Sprintf(format, args...)))
}

// results is standard output, and why something is missing there.
type results struct {
	to  io.Writer
	err error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// command has one argument, and an exit code. A result that could not be printed is no success: who started the command
// does not have it.
func (e Env) command(run func(context.Context, Env, string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		e, out := e, &results{to: e.Out}
		e.Out = out
		err := failed(run(c.Context(), e, args[0]))
		if out.err == nil || errors.Is(err, out.err) {
			return err
		}
		lost := fmt.Errorf("the output is not complete: %w", out.err)
		if err == nil {
			return Exit{Code: result.ExitFailed, Err: lost}
		}
		e.say("%v", lost)
		return err
	}
}
