package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

const raceClients = 50

// TestManyClients has 50 clients, each with a connection of its own, ask a real API server for leases at once, 100 times,
// and 1,000 times with CAPTF_TORTURE=1: in one half of the rounds all for one machine, in the other for a cluster and its
// two machines. Whoever is let in starts a Job, which ends while others still ask. Never do two Jobs run that must not.
func TestManyClients(t *testing.T) {
	rounds := 100
	if torture {
		rounds = 1000
	}
	server := kubetest.Shared(t)
	r := &race{T: t, namespace: server.Namespace(t), jobs: map[string]lease.Job{}}
	r.changed.L = &r.mu
	for range raceClients {
		r.gates = append(r.gates, r.gate(server.Config()))
	}
	began := time.Now()
	for round := range rounds {
		admitted := r.run(round)
		if round%2 == 0 && admitted == 0 {
			t.Errorf("round %d: all ask for one machine, and none is let in", round)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	if r.started[0] == 0 || r.started[1] == 0 || r.started[2] == 0 {
		t.Errorf("Jobs of the cluster and the machines: %v, want some of each", r.started)
	}
	t.Logf("%d rounds of %d clients in %s: %v Jobs of the cluster and the machines", rounds, raceClients, time.Since(began).Round(time.Second), r.started)
}

// race is what is true of the Jobs; the leases are in the API server.
type race struct {
	*testing.T
	namespace string
	gates     []lease.Gate

	mu       sync.Mutex
	changed  sync.Cond
	jobs     map[string]lease.Job
	running  [3]int // by object
	started  [3]int
	answered int // of this round
}

// gate is one client with a connection that it shares with none.
func (r *race) gate(config *rest.Config) lease.Gate {
	r.Helper()
	config.Dial = (&net.Dialer{}).DialContext // configurations that differ in it share no transport
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		r.Fatal(err)
	}
	return lease.Gate{Leases: client.CoordinationV1().Leases(r.namespace), Jobs: func(_ context.Context, name string) (lease.Job, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.jobs[name], nil
	}}
}

// run is one round: every client asks once. It returns how many were let in.
func (r *race) run(round int) (admitted int) {
	r.answered = 0
	var all sync.WaitGroup
	before := r.total()
	for i := range r.gates {
		object := 1
		if round%2 == 1 {
			object = i % 3
		}
		o := objects[object]
		o.Namespace = r.namespace
		job, err := naming.JobName(o, naming.Apply, round+1, fmt.Sprint(i), "")
		if err != nil {
			r.Fatal(err)
		}
		c := lease.Claim{Object: o, Op: naming.Apply, Job: job, Deadline: time.Hour}
		all.Go(func() { r.ask(r.gates[i], c, object) })
	}
	all.Wait()
	r.endAll()
	return r.total() - before
}

func (r *race) total() int { return r.started[0] + r.started[1] + r.started[2] }

// ask enters, and runs the Job until some of the others have had their answer.
func (r *race) ask(g lease.Gate, c lease.Claim, object int) {
	a, err := g.Enter(r.Context(), c)
	r.mu.Lock()
	r.answered++
	r.changed.Broadcast()
	if err != nil || !a.Admitted() {
		if err != nil {
			r.Error(err)
		}
		r.jobs[c.Job] = lease.Job{} // it is not created
		r.mu.Unlock()
		return
	}
	r.start(c.Job, object)
	for until := r.answered + rand.IntN(raceClients-r.answered+1); r.answered < until; {
		r.changed.Wait()
	}
	r.running[object]--
	r.jobs[c.Job] = lease.Job{Exists: true, Finished: true}
	r.mu.Unlock()
	if rand.IntN(2) == 0 { // else the next one takes over
		if err := g.Leave(r.Context(), c); err != nil {
			r.Error(err)
		}
	}
}

// start begins a Job, and looks at what else runs. It is called with the lock held.
func (r *race) start(job string, object int) {
	r.jobs[job] = lease.Job{Exists: true, PodRuns: true}
	r.running[object]++
	r.started[object]++
	if n := r.running; n[0] > 1 || n[1] > 1 || n[2] > 1 || n[0] > 0 && n[1]+n[2] > 0 {
		r.Errorf("job %s: Jobs of the cluster and the machines run at once: %v", job, n)
	}
}

// endAll has the Jobs that were not created be over, so that what a waiting cluster keeps is free in the next round.
func (r *race) endAll() {
	for name := range r.jobs {
		r.jobs[name] = lease.Job{Exists: true, Finished: true}
	}
}
