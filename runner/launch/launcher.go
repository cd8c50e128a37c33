package launch

import (
	"context"
	"log/slog"
	"time"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// KeepJobs is how many booked Jobs of an operation are retained by default.
const KeepJobs = 10

// minKeep leaves enough Jobs to know the longest backoff by.
const minKeep = 6

// Launcher makes passes over the objects of one namespace. It has no state: any number of them may work at once.
type Launcher struct {
	Clients Clients
	// WaitForForeignLock says that no Job is burnt behind a lock that is not ours to release.
	WaitForForeignLock bool
	// Policy may refuse a Job that is about to be created; its error is why. nil refuses none.
	Policy func(ctx context.Context, order Order) error
	// Metrics counts what happened; nil counts nothing.
	Metrics Recorder
	// Keep is how many booked Jobs of an operation are retained: 0 for KeepJobs, and never fewer than 6.
	Keep int
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Log gets what is no error and no event; nothing when nil.
	Log *slog.Logger
}

// Recorder counts. Its methods are called during a pass, by any number of passes at once. A *metrics.Metrics is one.
type Recorder interface {
	// JobEnded is told of each Job once, by the launcher that closed its books. r is nil if it left no result; took
	// is the time from its creation to its end.
	JobEnded(o naming.Object, op naming.Op, r *result.Result, took time.Duration)
	// ForceUnlocked is told of each Job that was handed the lock of a dead run.
	ForceUnlocked(o naming.Object)
	// StateRead is told what reading the state came to. sum is nil when there is none, and has no outputs when err says
	// that the state is encrypted. A state that is not there yet is an error of the reason state.NotFound.
	StateRead(o naming.Object, sum *state.Summary, err error)
	// BackedUp is told of every attempt to copy a state. made is false when there was a copy, or when err says why there
	// is none.
	BackedUp(o naming.Object, made bool, err error)
	// Pruned is told how many backups were removed, when any were.
	Pruned(o naming.Object, n int)
	// Waited is told of each pass that could not do what is due: a reason of this package, or a lease.Reason.
	Waited(o naming.Object, reason string)
}

// uncounted is the Recorder of a launcher that has none.
type uncounted struct{}

func (uncounted) JobEnded(naming.Object, naming.Op, *result.Result, time.Duration) {}
func (uncounted) ForceUnlocked(naming.Object)                                      {}
func (uncounted) StateRead(naming.Object, *state.Summary, error)                   {}
func (uncounted) BackedUp(naming.Object, bool, error)                              {}
func (uncounted) Pruned(naming.Object, int)                                        {}
func (uncounted) Waited(naming.Object, string)                                     {}

// Report is what a pass did and found.
type Report struct {
	// Decision is what was carried out. A start that had to wait for a lease or that the policy refused says so here.
	Decision Decision
	// Created is the name of the Job that was created.
	Created string
	// Booked are the runs whose books this pass has closed. Every run is in one pass's report only.
	Booked []Run
	// Gone says that nothing is left of the state: the object may go.
	Gone bool
	// Runs are the retained Jobs, oldest first, as they were before this pass.
	Runs []Run
	// Condition is the object's StateReadable condition. It and State are zero while a Job is active.
	Condition state.Condition
	// State is nil for one that cannot be read.
	State *state.Summary
	// Again says that the next pass is due at once.
	Again bool
	// After is when to look again although nothing changed; 0 for not.
	After time.Duration
}

// Last is the newest booked run of what is desired, nil when there is none.
func (r Report) Last(d Desired) *Run {
	for i := len(r.Runs) - 1; i >= 0; i-- {
		if r.Runs[i].same(d) && r.Runs[i].Booked {
			return &r.Runs[i]
		}
	}
	return nil
}

// Pass does one thing for the object, if there is one to do. It may be called at any time and as often as one
// likes. An error names the object and the step; what was done before it stays, and the next pass goes on from there.
func (l *Launcher) Pass(ctx context.Context, o Object) (Report, error) {
	p := &pass{Launcher: l, object: o, id: o.Identity(), ref: o.Reference(), desired: o.Desired()}
	if err := p.gather(ctx); err != nil {
		return p.report, p.wrap("gather", err)
	}
	p.report.Decision = Decide(p.seen)
	p.report.After = p.report.Decision.After
	var err error
	switch p.report.Decision.Action {
	case Book:
		err = p.bookAll(ctx)
	case Start:
		err = p.start(ctx)
	case Repair:
		err = p.repair(ctx)
	case Cleanup:
		err = p.cleanup(ctx)
	case Wait:
		p.waits(ctx)
	}
	return p.report, p.wrap(string(p.report.Decision.Action), err)
}

func (l *Launcher) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

func (l *Launcher) log() *slog.Logger {
	if l.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.Log
}

func (l *Launcher) metrics() Recorder {
	if l.Metrics == nil {
		return uncounted{}
	}
	return l.Metrics
}

func (l *Launcher) keep() int {
	if l.Keep == 0 {
		return KeepJobs
	}
	return max(l.Keep, minKeep)
}

func (l *Launcher) gate() lease.Gate {
	return lease.Gate{Leases: l.Clients.Leases, Jobs: l.Clients.Holder, Now: l.Now}
}

func (l *Launcher) chunks() chunks.API {
	return chunks.API{Secrets: l.Clients.Secrets, Leases: l.Clients.Leases}
}

func (l *Launcher) backups() backup.Store {
	return backup.Store{Secrets: l.Clients.Secrets, Now: l.Now}
}
