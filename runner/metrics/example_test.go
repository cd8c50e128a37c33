package metrics_test

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/captf/captf-runner/runner/metrics"
	"github.com/captf/captf-runner/runner/naming"
)

// A controller that is built with controller-runtime registers it in metrics.Registry of that, and gives it to its
// launch.Launcher as Metrics.
func ExampleNew() {
	m := metrics.New()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)

	worker := naming.Object{Kind: naming.Machine, Namespace: "infra", Name: "worker", Cluster: "prod"}
	m.JobEnded(worker, naming.Apply, nil, 90*time.Second) // a Job that left no result

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, family := range families {
		fmt.Println(family.GetName())
	}
	// Output:
	// captf_job_duration_seconds
	// captf_jobs_total
}
