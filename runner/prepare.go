package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// prepare does all that comes before the first step, and finds what is wrong with the options, the
// image and the configuration.
func (r *run) prepare(ctx context.Context) error {
	var err error
	if r.opts, err = r.opts.absolute(); err != nil {
		return err
	}
	r.redact.Add(redact.FromEnv(foreign(r.host.Environ))...)
	if err := r.opts.checkLayout(); err != nil {
		return err
	}
	if err := checkRescueDir(r.opts.RescueDir); err != nil {
		return err
	}
	if err := r.makeDebugLog(); err != nil {
		return err
	}
	if err := r.prepareInputs(ctx); err != nil {
		return err
	}
	if err := r.prepareRoot(ctx); err != nil {
		return err
	}
	if err := r.prepareRuntime(); err != nil {
		return err
	}
	if r.opts.Op == naming.Restore {
		return r.prepareRestore()
	}
	return nil
}

// prepareInputs reads what an operation needs besides the root.
func (r *run) prepareInputs(ctx context.Context) (err error) {
	if r.opts.PlanKeyFile != "" {
		if r.inputs.planKey, err = plan.ReadKey(r.opts.PlanKeyFile); err != nil {
			return usagef("--plan-key-file: %w", err)
		}
	}
	if r.backend, err = readBackend(r.opts.BackendConfig); err != nil {
		return err
	}
	if r.opts.Backend != "" && !r.opts.Local {
		if err := r.backend.check(r.opts.Backend, "--backend"); err != nil {
			return err
		}
	}
	if kind := cmp.Or(r.opts.Backend, r.backend.infer()); kind == "kubernetes" {
		return r.settleBackend(ctx, kind) // the root can only agree, and the API server takes its time
	}
	return nil
}

// checkRescueDir finds out before anything runs that the last resort is none.
func checkRescueDir(dir string) error {
	if dir == "" {
		return nil
	}
	file, err := os.CreateTemp(dir, ".captf-runner-*")
	if err != nil {
		return usagef("--rescue-dir: %w: name a writable directory that outlives the pod", err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// makeDebugLog makes the file before a runtime does: for its owner alone. Without it a runtime would log to the
// output of its step, and a debug log may hold credentials.
func (r *run) makeDebugLog() error {
	if r.opts.DebugLog == "" || r.opts.DryRun {
		return nil
	}
	file, err := os.OpenFile(r.opts.DebugLog, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return usagef("--debug-log: %w: name a file that can be written", err)
	}
	return file.Close()
}

// prepareRoot makes the directory that every step runs in.
func (r *run) prepareRoot(ctx context.Context) error {
	if err := r.claimWorkspace(ctx); err != nil {
		return err
	}
	if err := r.work.make(r.log); err != nil {
		return err
	}
	if r.opts.Local {
		return r.prepareLocal(ctx)
	}
	if err := r.work.copyConfig(r.opts.Config); err != nil {
		return err
	}
	return r.prepareBackend(ctx, r.opts.Backend)
}

// prepareBackend ties the root to its backend, of the kind that is wanted (empty: its own).
func (r *run) prepareBackend(ctx context.Context, wanted string) error {
	var err error
	if r.inputs.module, err = scanRoot(r.work.root); err != nil {
		return err
	}
	kind, note, err := declareBackend(r.inputs.module, r.work.root, wanted, &r.backend)
	if err != nil {
		return err
	}
	if err := r.checkOutlives(kind); err != nil {
		return err
	}
	if note != "" && !r.opts.Local { // a local run's state server is its own
		r.log.Info(note)
	}
	if r.backend.settled {
		return nil
	}
	return r.settleBackend(ctx, kind)
}

// settleBackend is for a backend whose type is known: the settings are sorted, and what the run itself has to do with the
// place of the state begins.
func (r *run) settleBackend(ctx context.Context, kind string) error {
	r.backend.expandHome(r.host.Environ)
	err := r.backend.become(kind, podNamespace(r.host.Environ))
	r.redact.Add(r.backend.secrets()...)
	if err != nil {
		return err
	}
	r.cluster, err = newCluster(r.backend, r.log)
	if r.cluster != nil {
		r.keeper = r.cluster
	} else if k := newHTTPKeeper(r.backend); k != nil {
		r.keeper = k
	}
	if err != nil || r.opts.DryRun {
		return err
	}
	r.outlook = r.lookOut(ctx)
	r.notifier, err = startNotifier(r.cluster, r.opts.EventObject, r.opts.JobName)
	return err
}

// prepareRuntime finds the runtime and makes its environment.
func (r *run) prepareRuntime() error {
	mirror, err := r.opts.mirror()
	if err != nil {
		return err
	}
	r.report.Image.ProvidersMirror = mirror != ""
	if err := r.work.writeCLIConfig(mirror); err != nil {
		return err
	}
	if err := r.collectVariables(); err != nil {
		return err
	}
	env := runtime.NewEnviron(r.host.Environ, r.work.environment(r.host.Environ, r.backend.env, r.opts.DebugLog))
	r.report.Env = &result.Env{Dropped: env.Dropped}
	if len(env.Dropped) > 0 {
		r.log.Warn("variables of the environment that would change what runs were dropped", "names", env.Dropped)
	}
	r.rt, err = runtime.New(r.opts.Bin, r.work.root, env, r.stop)
	if err != nil && !errors.Is(err, runtime.ErrNotExecutable) {
		return fmt.Errorf("runtime: %w", err)
	}
	if err != nil {
		return layoutf("%w: %s", err,
			r.opts.wayOut("put tofu or terraform into the image, or name it with --bin", "install tofu or terraform, or name it with --bin"))
	}
	r.rt.Inherited, r.rt.Outputs = r.work.inUse, r.opts.Local
	r.report.Runtime.Command = r.rt.Command
	r.report.save()
	return nil
}
