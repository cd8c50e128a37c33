//go:build e2e

package cluster

import (
	"slices"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
)

// What the root's variables are while a fault comes: the first file is there, and the second in the making.
const (
	quick    = `{}`
	slow     = `{"second": "8s"}`
	slower   = `{"second": "300s"}`
	stubborn = `{"second": "60s", "stubborn": true}`
	balloon  = `{"first": "4s", "balloon": 1000}` // more memory than the Job may have, after the first file
)

var (
	free        = []lock.Verdict{lock.Free}
	stale       = []lock.Verdict{lock.Stale}
	freeOrStale = []lock.Verdict{lock.Free, lock.Stale}
)

// faults are all that the table has.
func faults() []fault { return slices.Concat(deaths(), kills(), images(), outages(), refusals()) }

func succeeded(e ending) bool {
	return (e.condition == "Complete" || e.condition == string(launch.Succeeded)) && e.result != nil && e.result.Succeeded()
}

// interrupted is a run that was told to stop and could say so.
func interrupted(e ending) bool {
	return e.exit == result.ExitRetry && e.result != nil && !e.result.Partial && e.result.Error != nil && e.result.Error.Kind == result.KindInterrupted
}

// failed returns whether a run failed of its own accord, for a reason.
func failed(exit int32, kind result.Kind, reason result.Reason) func(ending) bool {
	return func(e ending) bool {
		return e.exit == exit && e.result != nil && !e.result.Partial && e.result.Error != nil &&
			e.result.Error.Kind == kind && e.result.Error.Reason == reason
	}
}

// never is a Job whose runner never ran.
func never(e ending) bool { return e.condition != string(launch.Succeeded) && e.result == nil }
