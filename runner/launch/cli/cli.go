// Package cli is `captf launch`: one operation in the cluster, from a terminal or from CI, with no controller. It makes
// the passes of package launch in a loop until the Job's books are closed. Start with [New].
//
// The exit codes are those of captf-runner run: the error of a command is an [Exit].
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// Env is what the commands get from the program.
type Env struct {
	// Name is what a person types: captf, or kubectl captf, with the flags that choose a cluster.
	Name     func() string
	In       io.Reader
	Out, Err io.Writer
	// Terminal says that a person can be asked on In and Err.
	Terminal bool
	// Interrupts are Ctrl-C and SIGTERM.
	Interrupts <-chan os.Signal
	// Connect returns a client and the namespace that flags and kubeconfig choose.
	Connect func() (kubernetes.Interface, string, error)
	// Kind reads a kind as a person writes it.
	Kind func(string) (naming.Kind, bool)
	// Poll is how often a Job is looked at; 0 is every 2 seconds.
	Poll time.Duration
}

const defaultPoll = 2 * time.Second

// Exit is an error with the exit code of the program.
type Exit struct {
	Code int
	Err  error // nil when the person has been told
}

func (e Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e Exit) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error {
	return Exit{Code: result.ExitUsage, Err: fmt.Errorf(format, args...)}
}

// failed gives an error that has no code one: time helps when the API server does not answer, and not when it says
// that something is forbidden or not there.
func failed(err error) error {
	switch {
	case err == nil || errors.As(err, new(Exit)):
		return err
	case passing(err) || errors.Is(err, context.Canceled):
		return Exit{Code: result.ExitRetry, Err: err}
	}
	return Exit{Code: result.ExitFailed, Err: err}
}

// about says what each operation is for.
var about = []struct {
	op   naming.Op
	text string
}{
	{naming.Apply, "apply the root; with --approve only the plan of that hash"},
	{naming.Plan, "show what an apply would do, and the hash to approve it by"},
	{naming.Refresh, "read the real infrastructure into the state"},
	{naming.Drift, "find out how the real infrastructure differs from the root"},
	{naming.Destroy, "destroy everything, and then remove the state"},
	{naming.Restore, "put a backup or a rescue set in the state's place"},
}

// New returns the command launch.
func New(e Env) *cobra.Command {
	if e.Poll == 0 {
		e.Poll = defaultPoll
	}
	c := &cobra.Command{
		Use:   "launch",
		Short: "Run an operation in a Job, and follow it",
		Long: `Run an operation on an object's state in a Job of its own, and follow it until it has ended. No controller is
needed. The Job waits for nobody's lock longer than --lock-timeout; the stale lock of a Job whose pod is gone is handed
down to it, any other stays.

Exit codes: 0 done, 1 failed, 2 usage, 3 try again later, 4 a person is needed.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown operation %q: use apply, plan, refresh, drift, destroy, restore or attach", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, a := range about {
		c.AddCommand(e.newOp(a.op, a.text))
	}
	c.AddCommand(e.newAttach())
	return c
}

func (e Env) newOp(op naming.Op, text string) *cobra.Command {
	o := &options{op: op}
	c := &cobra.Command{
		Use:   string(op) + " KIND/NAME",
		Short: text,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want one object, such as tc/NAME, and got %d arguments", len(args))
			}
			return nil
		},
		RunE: e.command(func(ctx context.Context, e Env, object string) error { return e.launch(ctx, o, object) }),
	}
	o.flags(c)
	return c
}

// launch runs one operation.
func (e Env) launch(ctx context.Context, o *options, arg string) error {
	client, namespace, err := e.Connect()
	if err != nil {
		return err
	}
	object, err := e.object(ctx, client, namespace, o, arg)
	if err != nil {
		return err
	}
	if err := o.checkSecrets(ctx, client, namespace); err != nil {
		return err
	}
	launcher := &launch.Launcher{Clients: launch.NewClients(client, namespace), WaitForForeignLock: o.waitForLock}
	if o.dryRun {
		return e.preview(ctx, launcher, object, o.output)
	}
	f := e.follower(client, launcher, object)
	f.detach, f.json = o.detach, o.output == outputJSON
	f.mine = func(r launch.Run) bool { return r.Op == o.op && r.Tick == object.desired.Tick }
	return f.run(ctx)
}
