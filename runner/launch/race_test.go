package launch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
)

const (
	raceObjects = 8
	raceRounds  = 25 // for each of them
)

// Two controllers work on one object and are killed at random points, 200 times. Never is more than one Job active, and
// each is booked once. What the kubelet would do is played.
func TestTwoControllers(t *testing.T) {
	namespace := kubetest.Shared(t).Namespace(t)
	for n := range raceObjects {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, kubetest.Shared(t).Clientset(), namespace, fmt.Sprintf("w%d", n))
			random := rand.New(rand.NewPCG(uint64(n), 1))
			for round := range raceRounds {
				f.object.desired.InputsHash = fmt.Sprintf("h2:%d", round)
				f.race(random, round)
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

// race is one round: both controllers live until they die or nothing is due, and a third one finishes what is left.
func (f *fixture) race(random *rand.Rand, round int) {
	f.Helper()
	ctx, stop := context.WithCancel(f.Context())
	var kubelet sync.WaitGroup
	kubelet.Go(func() { f.playKubelet(ctx, round) })

	var mu sync.Mutex
	booked := map[string]int{}
	var both sync.WaitGroup
	for range 2 {
		lives := random.IntN(70)
		both.Go(func() {
			m, client := newMortal(f, lives, false)
			f.reconcile(&Launcher{Clients: NewClients(client, f.object.id.Namespace)}, m, func(r Run) {
				mu.Lock()
				defer mu.Unlock()
				booked[r.Name]++
			})
		})
	}
	both.Wait()
	f.reconcile(f.launcher, nil, func(r Run) { booked[r.Name]++ })
	stop()
	kubelet.Wait()
	f.wantOnceBooked(booked)
}

func (f *fixture) wantOnceBooked(booked map[string]int) {
	f.Helper()
	of := 0
	for _, r := range f.jobs() {
		if r.InputsHash != f.object.desired.InputsHash {
			continue
		}
		of++
		if !r.Booked || booked[r.Name] != 1 {
			f.Errorf("job %s: booked %v, by %d controllers", r.Name, r.Booked, booked[r.Name])
		}
	}
	if of != 1 {
		f.Errorf("%d Jobs for these inputs, want 1", of)
	}
}

// reconcile makes passes as a controller would, until nothing is due or the controller is dead.
func (f *fixture) reconcile(l *Launcher, m *kubetest.Mortal, booked func(Run)) {
	deadline := time.Now().Add(5 * time.Minute)
	for time.Now().Before(deadline) {
		r, err := l.Pass(f.Context(), f.object)
		for _, run := range r.Booked {
			booked(run)
		}
		switch {
		case m != nil && m.Dead():
			return
		case err == nil && r.Decision.Action == Idle:
			return
		case err == nil && r.Decision.Action == Refuse:
			f.Errorf("refused: %s", r.Decision.Message)
			return
		}
		// An error is a conflict with the other one: a controller is called again.
		time.Sleep(2 * time.Millisecond)
	}
	f.Error("nothing comes to an end")
}

// playKubelet ends each Job a moment after it has appeared, and sees that there is never another one beside it.
func (f *fixture) playKubelet(ctx context.Context, round int) {
	e := jobtest.Succeeded
	e.Serial = round + 1
	for ctx.Err() == nil {
		runs, err := f.launcher.Clients.runs(ctx, f.object.id)
		if err != nil {
			continue
		}
		var active []Run
		for _, r := range runs {
			if !r.Finished {
				active = append(active, r)
			}
		}
		if len(active) > 1 {
			f.Errorf("%d Jobs are active: %s, %s", len(active), active[0].Name, active[1].Name)
		}
		if len(active) > 0 {
			if err := f.kubelet.Run(f.Context(), active[0].Name, e); err != nil {
				f.Errorf("job %s: %v", active[0].Name, err)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A controller that looked before another one's whole Job does not start its own from what it saw: these are old
// inputs by now. The moment is between its look and its lease.
func TestLooksAgainUnderTheLease(t *testing.T) {
	f := setUp(t)
	m, client := newMortal(t, 1<<20, false)
	slow := &Launcher{Clients: NewClients(client, f.object.id.Namespace)}
	old := *f.object
	f.object.desired.InputsHash = "h2:2"
	var once sync.Once
	m.Before = func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/leases") {
			once.Do(func() { f.finish(f.start(), jobtest.Succeeded) })
		}
	}
	r, err := slow.Pass(t.Context(), &old)
	if err != nil || r.Created != "" || r.Decision.Reason != ReasonOtherJobAppeared {
		t.Errorf("created %q, %+v, %v", r.Created, r.Decision, err)
	}
	if got := len(f.jobs()); got != 1 {
		t.Errorf("%d Jobs, want the other one's alone", got)
	}
}
