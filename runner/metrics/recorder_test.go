package metrics_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/metrics"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
)

// machine is an object of which only the identity is asked for.
type machine struct{ launch.Object }

func (machine) Identity() naming.Object {
	return naming.Object{Kind: naming.Machine, Namespace: "infra", Name: "worker"}
}

// TestRecorder counts what a launcher tells.
func TestRecorder(t *testing.T) {
	m := metrics.New()
	r := m.Recorder()
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := launch.Run{Job: naming.Job{Op: naming.Drift}, CreatedAt: created, FinishedAt: created.Add(40 * time.Second)}
	r.Finished(machine{}, run)
	run.Outcome = &launch.Outcome{Result: &result.Result{}}
	r.Finished(machine{}, run)
	r.ForceUnlocked(machine{})
	r.StateRead(machine{}, &state.Summary{Size: 2048}, nil)
	r.StateRead(machine{}, nil, &state.Error{Reason: state.Lost, Err: errors.New("x")})
	r.BackedUp(machine{}, true, nil)
	r.BackedUp(machine{}, false, nil)
	r.BackedUp(machine{}, false, errors.New("x"))
	r.Pruned(machine{}, 2)
	r.Waited(machine{}, string(lease.WaitingForJob))
	r.Waited(machine{}, launch.ReasonLockForeign) // no wait for a lease
	want := map[string]string{
		`captf_jobs_total{kind="TerraformMachine",op="drift",result="none"}`:        "1",
		`captf_jobs_total{kind="TerraformMachine",op="drift",result="succeeded"}`:   "1",
		`captf_job_duration_seconds_sum{kind="TerraformMachine",op="drift"}`:        "80",
		`captf_job_duration_seconds_count{kind="TerraformMachine",op="drift"}`:      "2",
		`captf_force_unlocks_total{kind="TerraformMachine"}`:                        "1",
		`captf_state_bytes_sum{kind="TerraformMachine"}`:                            "2048",
		`captf_state_bytes_count{kind="TerraformMachine"}`:                          "1",
		`captf_state_read_errors_total{kind="TerraformMachine",reason="StateLost"}`: "1",
		`captf_state_backups_total{kind="TerraformMachine",outcome="made"}`:         "1",
		`captf_state_backups_total{kind="TerraformMachine",outcome="kept"}`:         "1",
		`captf_state_backups_total{kind="TerraformMachine",outcome="failed"}`:       "1",
		`captf_state_backups_total{kind="TerraformMachine",outcome="pruned"}`:       "2",
		`captf_lease_waits_total{kind="TerraformMachine",reason="WaitingForJob"}`:   "1",
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
