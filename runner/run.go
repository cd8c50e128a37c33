package runner

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/root"
	"github.com/captf/captf-runner/runner/runtime"
)

// Host is what a run gets from the process that it runs in.
type Host struct {
	Environ []string // as os.Environ gives it
	Out     io.Writer
	// Terminal says that a person reads Out: it gets a live line of progress.
	Terminal bool
	Log      *slog.Logger
	Stop     *runtime.Stop // its budget is --stop-timeout
}

// run is one run of one operation.
type run struct {
	opts Options
	host Host
	log  *slog.Logger
	stop *runtime.Stop

	redact   *redact.Redactor
	console  *console
	notifier *notifier // nil when nobody wants events
	work     workspace
	module   *root.Module
	backend  backend
	keeper   lockKeeper // nil when the lock cannot be looked at
	local    *local     // nil without --local
	rt       *runtime.Runtime
	varFiles []string
	planKey  []byte
	restored []byte // the state that a restore pushes
	budget   lockBudget
	toApply  int // changes of the plan that is being applied, when it was made before
	outputs  map[string]runtime.Value

	ownLock   string // the lock that a child of this run was seen to hold
	observing sync.WaitGroup

	mu   sync.Mutex // guards res while a step runs
	res  *result.Result
	file *result.File
}

// Run runs one operation and returns its result, which it has also written to o.Result. The
// error is the one that the result tells of, in full, for the log; the exit code is the result's.
func Run(ctx context.Context, o Options, host Host) (*result.Result, error) {
	o, err := o.localDefaults()
	r := newRun(o, host)
	if err == nil {
		err = r.openResult()
	}
	if err != nil {
		return r.finish(usagef("%w", err))
	}
	if r.file != nil {
		defer r.file.Close()
	}
	r.save() // a runner that dies while it prepares has left a result, too
	defer r.release()
	defer r.startDeadline()()
	return r.finish(r.execute(ctx))
}

// UsageResult is the result of a command line that could not even be read.
func UsageResult(o Options, err error) *result.Result {
	r := newRun(o, Host{Log: slog.New(slog.DiscardHandler), Stop: runtime.NewStop(0)})
	res, _ := r.finish(usagef("%w", err))
	return res
}

// openResult finds out that the result cannot be written before anything runs.
func (r *run) openResult() (err error) {
	if !r.opts.DryRun {
		r.file, err = result.Open(r.opts.Result)
	}
	return err
}

func newRun(o Options, host Host) *run {
	secrets := redact.New()
	return &run{
		opts: o, host: host, stop: host.Stop, redact: secrets,
		console: &console{out: host.Out, redact: secrets, terminal: host.Terminal},
		log:     slog.New(redacting{host.Log.Handler(), secrets}),
		budget:  lockBudget{total: o.LockTimeout},
		res: &result.Result{
			Version: result.Version, Op: string(o.Op),
			Image:   result.Image{Ref: o.Image},
			Runtime: result.Runtime{Command: o.Bin},
			Lock:    &result.Lock{},
		},
	}
}

// startDeadline enforces --deadline where nobody else does.
func (r *run) startDeadline() (cancel func()) {
	if r.opts.Deadline == 0 {
		return func() {}
	}
	timer := time.AfterFunc(r.opts.Deadline, func() { r.stop.Request(ErrDeadline) })
	return func() { timer.Stop() }
}

func (r *run) execute(ctx context.Context) error {
	if err := r.opts.Validate(); err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if r.opts.DryRun {
		return r.dryRun()
	}
	defer r.removePlan()
	r.notify("RunStarted", string(r.opts.Op))
	return r.operate(ctx)
}

// release ends what prepare started.
func (r *run) release() {
	if r.local != nil {
		r.local.close()
	}
}

// prepare does all that comes before the first step, and finds what is wrong with the options, the
// image and the configuration.
func (r *run) prepare(ctx context.Context) error {
	var err error
	if r.opts, err = r.opts.absolute(); err != nil {
		return err
	}
	r.redact.Add(redact.FromEnv(r.host.Environ)...)
	if err := checkLayout(r.opts.Module); err != nil {
		return err
	}
	if err := r.prepareInputs(); err != nil {
		return err
	}
	if err := r.prepareRoot(ctx); err != nil {
		return err
	}
	return r.prepareRuntime()
}

// prepareInputs reads what an operation needs besides the root.
func (r *run) prepareInputs() (err error) {
	if r.opts.PlanKeyFile != "" {
		if r.planKey, err = plan.ReadKey(r.opts.PlanKeyFile); err != nil {
			return usagef("--plan-key-file: %w", err)
		}
	}
	if r.opts.Op == naming.Restore {
		if r.restored, err = readRestore(filepath.Join(r.opts.Config, "restore"), r.opts.RestoreChunks); err != nil {
			return err
		}
	}
	if r.backend, err = newBackend(r.opts.Backend, r.opts.BackendConfig, podNamespace(r.host.Environ)); err != nil {
		return err
	}
	r.redact.Add(r.backend.secrets()...)
	return nil
}

// prepareRoot makes the directory that every step runs in.
func (r *run) prepareRoot(ctx context.Context) error {
	r.work = workspace{dir: r.opts.Workdir, root: filepath.Join(r.opts.Workdir, "root")}
	if r.opts.Local {
		return r.prepareLocal(ctx)
	}
	if err := r.work.make(r.log); err != nil {
		return err
	}
	if err := r.work.copyConfig(r.opts.Config); err != nil {
		return err
	}
	return r.prepareBackend()
}

// prepareBackend ties the root to its backend.
func (r *run) prepareBackend() error {
	var err error
	if r.module, err = scanRoot(r.work.root); err != nil {
		return err
	}
	kind, note, err := declareBackend(r.module, r.work.root, r.backend.kind)
	if err != nil {
		return err
	}
	if note != "" {
		r.log.Info(note)
	}
	if r.backend.kind == "" {
		if r.backend, err = newBackend(kind, r.opts.BackendConfig, podNamespace(r.host.Environ)); err != nil {
			return err
		}
		r.redact.Add(r.backend.secrets()...)
	}
	cluster, err := newCluster(r.backend, r.log)
	if cluster != nil {
		r.keeper = cluster
	}
	if err != nil || r.opts.DryRun {
		return err
	}
	r.notifier, err = startNotifier(cluster, r.opts.EventObject, r.opts.JobName)
	return err
}

// prepareRuntime finds the runtime and makes its environment.
func (r *run) prepareRuntime() error {
	mirror, err := mirrorOf(r.opts.Providers)
	if err != nil {
		return err
	}
	r.res.Image.ProvidersMirror = mirror != ""
	if err := r.work.writeCLIConfig(mirror); err != nil {
		return err
	}
	if err := r.collectVariables(); err != nil {
		return err
	}
	env := runtime.NewEnviron(r.host.Environ, r.work.environment(r.host.Environ, r.backend.env, r.opts.DebugLog))
	r.res.Env = &result.Env{Dropped: env.Dropped}
	if len(env.Dropped) > 0 {
		r.log.Warn("variables of the environment that would change what runs were dropped", "names", env.Dropped)
	}
	r.rt, err = runtime.New(r.opts.Bin, r.work.root, env, r.stop)
	if err != nil {
		return err
	}
	r.res.Runtime.Command = r.rt.Command
	r.save()
	return nil
}

// update changes the result. While a step runs, its output and the looks at the lock do that as well.
func (r *run) update(change func(*result.Result)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r.res)
}

// save writes the result as it is so far, marked as partial.
func (r *run) save() { r.write(true) }

func (r *run) write(partial bool) {
	if r.file == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Lock.WaitedSeconds = result.Seconds(r.budget.used)
	if err := r.file.Write(r.res, partial); err != nil {
		r.log.Error("the result could not be written", "file", r.opts.Result, "error", err)
	}
}

// finish completes the result and writes it for the last time.
func (r *run) finish(err error) (*result.Result, error) {
	if err != nil {
		f := asFailure(err, r.stop)
		r.res.Error = r.errorOf(f)
		err = fmt.Errorf("%s: %w", r.subject(), f)
	}
	if r.local != nil && r.rt != nil && !r.opts.DryRun {
		r.summarise(context.Background())
	}
	r.overflow()
	r.write(false)
	r.announceEnd()
	r.notifier.close()
	return r.res, err
}

// announceEnd is the event about the end of the run.
func (r *run) announceEnd() {
	if e := r.res.Error; e != nil {
		r.warn("RunFinished", fmt.Sprintf("%s: %s: %s", r.opts.Op, e.Kind, e.Tail))
		return
	}
	r.notify("RunFinished", fmt.Sprintf("%s: %s", r.opts.Op, r.outcome()))
}

// errorOf is what the result says of a failure, without secrets.
func (r *run) errorOf(f *failure) *result.Error {
	e := &result.Error{Kind: f.kind, Reason: f.reason, Step: f.step, Tail: result.Tail(r.redact.String(cmp.Or(f.tail, f.err.Error())))}
	for _, resource := range f.resources {
		resource.Summary = r.redact.String(resource.Summary)
		e.Resources = append(e.Resources, resource)
	}
	return e
}

// subject names the run in messages, as far as it is known.
func (r *run) subject() string {
	op := cmp.Or(string(r.opts.Op), "run")
	if object := r.object(); object != "" {
		return op + ": " + object
	}
	return op
}

// object names what the run is about.
func (r *run) object() string {
	switch {
	case r.local != nil:
		return r.local.name
	case r.backend.kind == "":
		return ""
	}
	return r.backend.String()
}
