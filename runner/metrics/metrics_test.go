package metrics_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/metrics"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
)

var _ launch.Recorder = (*metrics.Metrics)(nil)

func object(kind naming.Kind) naming.Object {
	return naming.Object{Kind: kind, Namespace: "infra", Name: "worker"}
}

// scrape returns the samples but those of buckets, by name and labels.
func scrape(t *testing.T, m *metrics.Metrics) map[string]string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "metrics.prom")
	if err := prometheus.WriteToTextfile(path, registry); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]string{}
	for line := range strings.Lines(string(text)) {
		i := strings.LastIndexByte(line, ' ')
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket") {
			samples[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return samples
}

func TestMetrics(t *testing.T) {
	m := metrics.New()
	done := &result.Result{Steps: []result.Step{{Name: "init", Seconds: result.Seconds(1500 * time.Millisecond)}, {Name: "apply", Seconds: result.Seconds(8 * time.Second)}}}
	m.JobEnded(object(naming.Machine), naming.Apply, done, 12*time.Second)
	m.JobEnded(object(naming.Machine), naming.Apply, done, 8*time.Second)
	m.JobEnded(object(naming.Cluster), naming.Destroy, nil, time.Second)
	m.ForceUnlocked(object(naming.MachinePool))
	m.StateRead(object(naming.Machine), &state.Summary{Size: 2048}, nil)
	m.StateRead(object(naming.Machine), nil, fmt.Errorf("read: %w", &state.Error{Reason: state.Corrupt, Err: errors.New("x")}))
	m.StateRead(object(naming.Machine), &state.Summary{Size: 10}, &state.Error{Reason: state.Encrypted, Err: errors.New("x")})
	m.StateRead(object(naming.Machine), nil, errors.New("connection refused"))
	m.BackedUp(object(naming.Machine), true, nil)
	m.BackedUp(object(naming.Machine), false, nil)
	m.BackedUp(object(naming.Machine), false, errors.New("x"))
	m.Pruned(object(naming.Machine), 3)
	m.Waited(object(naming.Machine), string(lease.WaitingForClusterOperation))
	m.Waited(object(naming.Machine), launch.ReasonLockForeign) // no wait for a lease
	want := map[string]string{
		`captf_jobs_total{kind="TerraformMachine",op="apply",result="succeeded"}`:              "2",
		`captf_jobs_total{kind="TerraformCluster",op="destroy",result="none"}`:                 "1",
		`captf_job_duration_seconds_sum{kind="TerraformMachine",op="apply"}`:                   "20",
		`captf_job_duration_seconds_count{kind="TerraformMachine",op="apply"}`:                 "2",
		`captf_job_duration_seconds_sum{kind="TerraformCluster",op="destroy"}`:                 "1",
		`captf_job_duration_seconds_count{kind="TerraformCluster",op="destroy"}`:               "1",
		`captf_step_duration_seconds_sum{kind="TerraformMachine",step="init"}`:                 "3",
		`captf_step_duration_seconds_count{kind="TerraformMachine",step="init"}`:               "2",
		`captf_step_duration_seconds_sum{kind="TerraformMachine",step="apply"}`:                "16",
		`captf_step_duration_seconds_count{kind="TerraformMachine",step="apply"}`:              "2",
		`captf_force_unlocks_total{kind="TerraformMachinePool"}`:                               "1",
		`captf_state_bytes_sum{kind="TerraformMachine"}`:                                       "2058",
		`captf_state_bytes_count{kind="TerraformMachine"}`:                                     "2",
		`captf_state_read_errors_total{kind="TerraformMachine",reason="StateCorrupt"}`:         "1",
		`captf_state_read_errors_total{kind="TerraformMachine",reason="StateEncrypted"}`:       "1",
		`captf_state_read_errors_total{kind="TerraformMachine",reason="StateUnavailable"}`:     "1",
		`captf_state_backups_total{kind="TerraformMachine",outcome="made"}`:                    "1",
		`captf_state_backups_total{kind="TerraformMachine",outcome="kept"}`:                    "1",
		`captf_state_backups_total{kind="TerraformMachine",outcome="failed"}`:                  "1",
		`captf_state_backups_total{kind="TerraformMachine",outcome="pruned"}`:                  "3",
		`captf_lease_waits_total{kind="TerraformMachine",reason="WaitingForClusterOperation"}`: "1",
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Each command that the runner puts into a result has a label of its own.
func TestSteps(t *testing.T) {
	for _, name := range []string{
		"init", "force-unlock", "apply", "destroy", "apply-refresh-only", "plan", "show-json", "state-push", "state-list", "state-pull",
	} {
		m := metrics.New()
		m.JobEnded(object(naming.Machine), naming.Apply, &result.Result{Steps: []result.Step{{Name: name}}}, time.Second)
		series := `captf_step_duration_seconds_count{kind="TerraformMachine",step="` + name + `"}`
		if got := scrape(t, m)[series]; got != "1" {
			t.Errorf("%s is %q, want 1", series, got)
		}
	}
}

// TestBounded feeds values that nobody knows, as a result in a pod could hold: they become one.
func TestBounded(t *testing.T) {
	m := metrics.New()
	for i := range 100 {
		text := fmt.Sprint("x", i)
		m.JobEnded(object(naming.Kind(text)), naming.Op(text), &result.Result{
			Steps: []result.Step{{Name: text}}, Error: &result.Error{Kind: result.Kind(text)},
		}, time.Second)
		m.ForceUnlocked(object(naming.Kind(text)))
		m.StateRead(object(naming.Kind(text)), &state.Summary{}, &state.Error{Reason: state.Reason(text), Err: errors.New("x")})
		m.BackedUp(object(naming.Kind(text)), true, nil)
		m.Waited(object(naming.Kind(text)), string(lease.WaitingForJob))
	}
	samples := scrape(t, m)
	for name := range samples {
		if strings.Contains(name, `"x`) {
			t.Errorf("%s has a value that nobody knows", name)
		}
	}
	if len(samples) != 5+2*3 { // five counters, and the sum and the count of three histograms
		t.Errorf("%d samples, want one series of each metric", len(samples))
	}
}

// TestResults has every end of a run.
func TestResults(t *testing.T) {
	failed := func(kind result.Kind) *result.Result { return &result.Result{Error: &result.Error{Kind: kind}} }
	for want, r := range map[string]*result.Result{
		"none": nil, "succeeded": {}, "killed": {Partial: true}, "state-astray": {State: &result.State{Saved: result.SavedRescued}},
		"image-layout": failed(result.KindImageLayout), "step": failed(result.KindStep), "interrupted": failed(result.KindInterrupted),
		"blocked": failed(result.KindBlocked), "plan-changed": failed(result.KindPlanChanged), "other": failed("new"),
	} {
		m := metrics.New()
		m.JobEnded(object(naming.Machine), naming.Apply, r, 0)
		sample := fmt.Sprintf(`captf_jobs_total{kind="TerraformMachine",op="apply",result=%q}`, want)
		if samples := scrape(t, m); samples[sample] != "1" {
			t.Errorf("no %s among %v", sample, samples)
		}
	}
}
