//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
)

// Two controllers apply and destroy one object in turn, in real pods, and each is killed after some of its requests;
// a third one finishes. There is one Job for each turn, one controller books it, and no file is made or removed
// twice.
func TestControllersKilled(t *testing.T) {
	t.Parallel()
	turns := 4
	if torture {
		turns = 40
	}
	s := newSubject(t, "opentofu")
	defer func() {
		if t.Failed() {
			t.Log(s.logs(t))
		}
	}()
	random := rand.New(rand.NewPCG(1, 1))
	for turn := range turns {
		o := &controlled{
			s: s, desired: launch.Desired{Op: naming.Apply, Tick: fmt.Sprint(turn)},
			files: map[string][]byte{"main.tf": []byte(root), "terraform.tfvars.json": []byte(quick)},
		}
		if turn%2 == 1 {
			o.desired.Op, o.desired.Applied = naming.Destroy, true
		}
		s.turn(t, o, random)
		if t.Failed() {
			t.Fatalf("turn %d", turn)
		}
	}
	did := map[string]int{}
	for _, line := range s.ledger(t) {
		did[line]++
	}
	want := map[string]int{"create first": turns / 2, "create second": turns / 2, "delete first": turns / 2, "delete second": turns / 2}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Errorf("what the provider did (-want +got)\n%s", diff)
	}
}

// wholeTurn is more requests than a turn takes: a controller dies anywhere in it, or lives to its end.
const wholeTurn = 80

// turn has both controllers work, and then one that lives.
func (s *subject) turn(t *testing.T, o *controlled, random *rand.Rand) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	books := books{jobs: s.client.BatchV1().Jobs(s.object.Namespace)}
	var both sync.WaitGroup
	for range 2 {
		m, client, err := kubetest.NewMortal(config, random.IntN(wholeTurn))
		if err != nil {
			t.Fatal(err)
		}
		both.Go(func() { books.keep(t, launch.NewClients(client, s.object.Namespace), o, m.Dead) })
	}
	both.Wait()
	books.keep(t, launch.NewClients(s.client, s.object.Namespace), o, func() bool { return false })

	jobs, err := s.client.BatchV1().Jobs(s.object.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, job := range jobs.Items {
		if job.Annotations[launch.AnnotationTick] == o.desired.Tick {
			want[job.Name] = 1
		}
	}
	if diff := cmp.Diff(want, books.booked); len(want) != 1 || diff != "" {
		t.Errorf("%d Jobs, want 1; how often each was booked (-want +got)\n%s", len(want), diff)
	}
}

// books count how often a Job was booked.
type books struct {
	jobs   typedbatchv1.JobInterface
	mu     sync.Mutex
	booked map[string]int
}

// keep makes passes until nothing is left to do, or the controller is dead.
func (b *books) keep(t *testing.T, clients launch.Clients, o *controlled, dead func() bool) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	launcher := &launch.Launcher{Clients: clients}
	for ctx.Err() == nil {
		report, err := launcher.Pass(ctx, o)
		b.add(report.Booked)
		switch {
		case dead():
			return
		case err != nil: // a conflict with the other one
		case report.Gone || report.Decision.Action == launch.Idle:
			return
		case report.Decision.Action == launch.Refuse:
			t.Errorf("refused: %s: %s", report.Decision.Reason, report.Decision.Message)
			return
		case report.Decision.Action == launch.Follow:
			b.watch(ctx, report.Decision.Run.Name)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Error("it comes to no end")
}

// watch waits until a Job has ended, as a controller does that watches Jobs. So both wake at once, and none of their
// requests are used up by waiting.
func (b *books) watch(ctx context.Context, name string) {
	_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		job, err := b.jobs.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && len(job.Status.Conditions) > 0, nil
	})
}

func (b *books) add(runs []launch.Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.booked == nil {
		b.booked = map[string]int{}
	}
	for _, r := range runs {
		b.booked[r.Name]++
	}
}
