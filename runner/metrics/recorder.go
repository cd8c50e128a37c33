package metrics

import (
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
)

// Recorder returns what a [launch.Launcher] counts with.
func (m *Metrics) Recorder() launch.Recorder { return recorder{m} }

type recorder struct{ m *Metrics }

func (r recorder) Finished(o launch.Object, run launch.Run) {
	var res *result.Result
	if run.Outcome != nil {
		res = run.Outcome.Result
	}
	r.m.JobEnded(o.Identity().Kind, run.Op, res, run.FinishedAt.Sub(run.CreatedAt))
}

func (r recorder) ForceUnlocked(o launch.Object) { r.m.ForceUnlocked(o.Identity().Kind) }

func (r recorder) StateRead(o launch.Object, sum *state.Summary, err error) {
	r.m.StateRead(o.Identity().Kind, sum, err)
}

func (r recorder) BackedUp(o launch.Object, made bool, err error) {
	r.m.BackedUp(o.Identity().Kind, made, err)
}

func (r recorder) Pruned(o launch.Object, n int) { r.m.Pruned(o.Identity().Kind, n) }

// Waited is told of other waits than those for a lease, too.
func (r recorder) Waited(o launch.Object, reason string) {
	if waitLabel(lease.Reason(reason)) != other {
		r.m.LeaseWaited(o.Identity().Kind, lease.Reason(reason))
	}
}
