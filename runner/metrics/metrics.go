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

// Metrics are the metrics of one controller. It is safe for concurrent use.
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
		jobSeconds:   histogram("job_duration_seconds", "From the start of a Job to its end.", durations, "kind", "op"),
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
// start to its end.
func (m *Metrics) JobEnded(kind naming.Kind, op naming.Op, r *result.Result, took time.Duration) {
	k, o := kindLabel(kind), opLabel(op)
	m.jobs.WithLabelValues(k, o, resultLabel(r)).Inc()
	m.jobSeconds.WithLabelValues(k, o).Observe(took.Seconds())
	if r == nil {
		return
	}
	for _, step := range r.Steps {
		m.stepSeconds.WithLabelValues(k, stepLabel(step.Name)).Observe(time.Duration(step.Seconds).Seconds())
	}
}

// ForceUnlocked counts a stale lock that a Job was told to release.
func (m *Metrics) ForceUnlocked(kind naming.Kind) {
	m.forceUnlocks.WithLabelValues(kindLabel(kind)).Inc()
}

// StateRead counts the reading of a state: its size, or why it failed. sum is nil after an error that gives none.
func (m *Metrics) StateRead(kind naming.Kind, sum *state.Summary, err error) {
	k := kindLabel(kind)
	if err != nil {
		m.readErrors.WithLabelValues(k, reasonLabel(err)).Inc()
	}
	if sum != nil {
		m.stateBytes.WithLabelValues(k).Observe(float64(sum.Size))
	}
}

// BackedUp counts a backup, made or not, of which err is the error.
func (m *Metrics) BackedUp(kind naming.Kind, made bool, err error) {
	outcome := "kept" // there was one already
	switch {
	case err != nil:
		outcome = "failed"
	case made:
		outcome = "made"
	}
	m.backups.WithLabelValues(kindLabel(kind), outcome).Inc()
}

// Pruned counts backups that were removed.
func (m *Metrics) Pruned(kind naming.Kind, n int) {
	m.backups.WithLabelValues(kindLabel(kind), "pruned").Add(float64(n))
}

// LeaseWaited counts a pass in which a Job could not start. Empty is no wait.
func (m *Metrics) LeaseWaited(kind naming.Kind, reason lease.Reason) {
	if reason != "" {
		m.leaseWaits.WithLabelValues(kindLabel(kind), waitLabel(reason)).Inc()
	}
}
