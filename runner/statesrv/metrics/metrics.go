// Package metrics counts what a state server does, for Prometheus. Start with
// [New]; the server tells it of requests and events, and its Handler answers
// /metrics. No label has a state's or a user's name in it, so the number of series
// does not grow with either.
package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/captf/captf-runner/runner/statesrv"
)

// Metrics has a registry of its own. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	events   *prometheus.CounterVec
	reloads  *prometheus.CounterVec
}

// New returns metrics of a program of that version.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "statesrv_http_request_duration_seconds",
			Help:    "Time from a request's header to the end of its answer, its body's way included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route", "code"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "statesrv_events_total",
			Help: "Locks, unlocks, writes, deletes and restores, done or refused.",
		}, []string{"action", "outcome"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "statesrv_reloads_total",
			Help: "Times that changed users or certificates were read again.",
		}, []string{"outcome"}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "statesrv_build_info", Help: "1, with the version of the program.",
	}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(m.requests, m.events, m.reloads, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers with all metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// methods are those that a client can ask for; any other is one series.
var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "LOCK", "UNLOCK"}

// Request counts a request; it is a HandlerOptions.OnRequest.
func (m *Metrics) Request(r statesrv.RequestRecord) {
	method := r.Method
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(method, r.Route, strconv.Itoa(r.Status)).Observe(r.Duration.Seconds())
}

// Event counts an event; it is a Rules.Observe.
func (m *Metrics) Event(_ string, ev statesrv.Event) {
	outcome := "done"
	if ev.Refused != "" {
		outcome = "refused"
	}
	m.events.WithLabelValues(string(ev.Action), outcome).Inc()
}

// Reloaded counts an attempt to use new users or certificates.
func (m *Metrics) Reloaded(err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.reloads.WithLabelValues(outcome).Inc()
}

// Certificate adds the time at which the server's own certificate ends.
func (m *Metrics) Certificate(notAfter func() time.Time) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "statesrv_certificate_not_after_seconds",
		Help: "When the server's certificate ends, in seconds since 1970.",
	}, func() float64 { return float64(notAfter().Unix()) }))
}
