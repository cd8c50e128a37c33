package runner

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
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
	opts     Options
	host     Host
	log      *slog.Logger
	stop     *runtime.Stop
	redact   *redact.Redactor
	console  *console
	notifier *notifier // nil when nobody wants events

	work   workspace
	inputs inputs
	rt     *runtime.Runtime // nil before it was found

	backend backend
	outlook *outlook   // nil before the backend is known
	keeper  lockKeeper // nil when the lock cannot be looked at
	cluster *cluster   // the keeper, when the state is kept in Secrets and the runner can reach them
	local   *local     // nil without --local

	budget lockBudget
	stale  staleLock
	child  child
	legacy legacy
	report report
}

// Run runs one operation and returns its result, which it has also written to o.Result. The
// error is the one that the result tells of, in full, for the log and without secrets; the exit code is the result's.
func Run(ctx context.Context, o Options, host Host) (*result.Result, error) {
	o, err := o.localDefaults()
	r := newRun(o, host)
	if err == nil {
		err = r.openResult()
	}
	defer r.release()
	if err != nil && !isDiskFull(err) {
		err = usagef("%w", err)
	}
	if err != nil {
		return r.finish(err)
	}
	defer r.startDeadline()()
	return r.finish(r.execute(ctx))
}

// UsageResult is the result of a command line that could not even be read.
func UsageResult(o Options, err error) *result.Result {
	r := newRun(o, Host{Log: slog.New(slog.DiscardHandler), Stop: runtime.NewStop(0)})
	res, _ := r.finish(usagef("%w", err))
	return res
}

// openResult finds out that the result cannot be written before anything runs. A runner that dies while
// it prepares has left a result, too.
func (r *run) openResult() error {
	if r.opts.DryRun {
		return nil
	}
	open := result.Open
	if r.opts.ownResult {
		if err := r.claimResult(); err != nil {
			return err
		}
		open = result.Continue
	}
	file, err := open(r.opts.Result)
	if err == nil {
		err = r.report.begin(file)
	}
	if err != nil {
		return resultError(err)
	}
	return nil
}

func newRun(o Options, host Host) *run {
	secrets := redact.New()
	log := slog.New(redacting{host.Log.Handler(), secrets})
	return &run{
		opts: o, host: host, stop: host.Stop, redact: secrets,
		console: &console{out: host.Out, redact: secrets, terminal: host.Terminal},
		log:     log,
		budget:  lockBudget{total: o.LockTimeout},
		stale:   staleLock{id: o.ForceUnlock},
		report: report{log: log, redact: secrets, Result: &result.Result{
			Version: result.Version, Op: string(o.Op),
			Image:   result.Image{Ref: o.Image},
			Runtime: result.Runtime{Command: o.Bin},
			Lock:    &result.Lock{},
		}},
	}
}

// startDeadline enforces --deadline where nobody else does.
func (r *run) startDeadline() (cancel func()) {
	if r.opts.Deadline == 0 {
		return func() {}
	}
	timer := time.AfterFunc(r.opts.Deadline, func() { r.stop.Request(errDeadline) })
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
	defer r.removeInputs()
	r.notify("RunStarted", string(r.opts.Op))
	err := r.operate(ctx)
	if r.report.Runtime.Version == "" && !errors.Is(err, errLayout) && r.stop.Cause() == nil {
		_ = r.askVersion(ctx) // no step has told it
	}
	return err
}

// release ends what was started or opened.
func (r *run) release() {
	if r.outlook != nil {
		r.outlook.cancel()
	}
	if r.local != nil {
		r.local.close()
	}
	if r.child.lock != "" && !r.report.Lock.Released {
		r.work.temporary = false // who takes it over has to know which lock to release
	}
	for _, w := range r.workspaces() {
		w.release()
	}
	r.report.close()
}
