// Package metrics counts what a controller does with its Jobs and states, for Prometheus.
//
// [New] makes a set of metrics, which is a collector: a controller registers it in a registry of its own choice. Every
// label has a bounded number of values: none holds an object's name, and a value that is not known is "other".
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
)

// Metrics are the metrics of one controller. It is safe for concurrent use. It is a launch.Recorder, so a Launcher can
// count with it; this package does not link package launch.
type Metrics struct {
	jobs         *prometheus.CounterVec
	jobSeconds   *prometheus.HistogramVec
	stepSeconds  *prometheus.HistogramVec
	forceUnlocks *prometheus.CounterVec
	readErrors   *prometheus.CounterVec
	stateBytes   *prometheus.HistogramVec
	backups      *prometheus.CounterVec
	leaseWaits   *prometheus.CounterVec
}

// durations are the upper bounds of a Job's and a step's time, in seconds: to the longest deadline that is usual.
var durations = []float64{1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200}

// sizes are the upper bounds of a state's size, in bytes: 1 KiB to 64 MiB, which is the limit.
var sizes = prometheus.ExponentialBuckets(1<<10, 4, 9)

// New returns metrics that have counted nothing.
func New() *Metrics {
	return &Metrics{
		jobs:         counter("jobs_total", "Jobs that have ended, by what became of them.", "kind", "op", "result"),
		jobSeconds:   histogram("job_duration_seconds", "From the creation of a Job to its end.", durations, "kind", "op"),
		stepSeconds:  histogram("step_duration_seconds", "Time of one command of the runtime.", durations, "kind", "step"),
		forceUnlocks: counter("force_unlocks_total", "Locks of dead runs that were handed to a Job to be released.", "kind"),
		readErrors:   counter("state_read_errors_total", "States that could not be read, by the reason of their condition.", "kind", "reason"),
		stateBytes:   histogram("state_bytes", "Size of states that were read, decompressed.", sizes, "kind"),
		backups:      counter("state_backups_total", "Backups of states, by what became of them.", "kind", "outcome"),
		leaseWaits:   counter("lease_waits_total", "Passes in which a Job could not start because of a lease, by the reason.", "kind", "reason"),
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "captf", Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "captf", Name: name, Help: help, Buckets: buckets}, labels)
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.jobs, m.jobSeconds, m.stepSeconds, m.forceUnlocks, m.readErrors, m.stateBytes, m.backups, m.leaseWaits}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}

// JobEnded counts a Job that has ended, and its steps. r is its result, nil if it left none; took is the time from its
// creation to its end.
func (m *Metrics) JobEnded(o naming.Object, op naming.Op, r *result.Result, took time.Duration) {
	kind, operation := kindLabel(o.Kind), opLabel(op)
	m.jobs.WithLabelValues(kind, operation, resultLabel(r)).Inc()
	m.jobSeconds.WithLabelValues(kind, operation).Observe(took.Seconds())
	if r == nil {
		return
	}
	for _, step := range r.Steps {
		m.stepSeconds.WithLabelValues(kind, stepLabel(step.Name)).Observe(time.Duration(step.Seconds).Seconds())
	}
}

// ForceUnlocked counts a stale lock that a Job was told to release.
func (m *Metrics) ForceUnlocked(o naming.Object) {
	m.forceUnlocks.WithLabelValues(kindLabel(o.Kind)).Inc()
}

// StateRead counts the reading of a state: its size, or why it failed. sum is nil after an error that gives none.
func (m *Metrics) StateRead(o naming.Object, sum *state.Summary, err error) {
	kind := kindLabel(o.Kind)
	if err != nil {
		m.readErrors.WithLabelValues(kind, reasonLabel(err)).Inc()
	}
	if sum != nil {
		m.stateBytes.WithLabelValues(kind).Observe(float64(sum.Size))
	}
}

// BackedUp counts a backup, made or not, of which err is the error.
func (m *Metrics) BackedUp(o naming.Object, made bool, err error) {
	outcome := "kept" // there was one already
	switch {
	case err != nil:
		outcome = "failed"
	case made:
		outcome = "made"
	}
	m.backups.WithLabelValues(kindLabel(o.Kind), outcome).Inc()
}

// Pruned counts backups that were removed.
func (m *Metrics) Pruned(o naming.Object, n int) {
	m.backups.WithLabelValues(kindLabel(o.Kind), "pruned").Add(float64(n))
}

// Waited counts a pass in which a Job could not start because of a lease. A reason that is no [lease.Reason] is not
// counted: a launcher tells of other waits, too.
func (m *Metrics) Waited(o naming.Object, reason string) {
	switch lease.Reason(reason) {
	case lease.WaitingForJob, lease.WaitingForOtherWriter, lease.WaitingForMachineOperations, lease.WaitingForClusterOperation:
		m.leaseWaits.WithLabelValues(kindLabel(o.Kind), reason).Inc()
	}
}
