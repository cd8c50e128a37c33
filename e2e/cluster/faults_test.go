//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// fault is something that happens to an apply in its pod, and what must come of it.
type fault struct {
	name      string
	long      bool   // only with CAPTF_TORTURE
	alone     bool   // it hits the other Jobs of the cluster, too
	variables string // of the root, while the fault happens; two files are made, one after the other
	template  func(*launch.Template)
	prepare   func(t *testing.T, s *subject)
	hit       func(t *testing.T, s *subject, job *batchv1.Job) // nil when the Job brings it about itself
	repair    func(t *testing.T, s *subject, job string)       // afterwards, by a person

	ends  func(e ending) bool // whether the Job may end so
	locks []lock.Verdict      // what its lock may be worth then
	// lost says that the state of the Job went with it, so that files are made again. The result has to name them, if
	// there is one.
	lost bool
}

// TestFaults has one apply hit by each fault. The next launch, which hands a stale lock down, has to end well; the
// state then has both files, and no file was made twice.
func TestFaults(t *testing.T) {
	for _, alone := range []bool{true, false} { // those that hit everybody run before the others start
		for _, f := range faults() {
			if f.alone != alone || f.long && !torture {
				continue
			}
			for _, runtime := range runtimes {
				t.Run(fmt.Sprintf("%s/%s", f.name, runtime), func(t *testing.T) {
					if !f.alone {
						t.Parallel()
					}
					f.test(t, newSubject(t, runtime))
				})
			}
		}
	}
}

func (f fault) test(t *testing.T, s *subject) {
	r := row{fault: f.name, runtime: s.runtime}
	defer func() { report.add(r) }()
	defer func() {
		if t.Failed() {
			t.Log(s.logs(t))
		}
	}()
	if f.prepare != nil {
		f.prepare(t, s)
	}
	first := f.first(t, s)
	r.first = first.short()
	if !f.ends(first) {
		t.Errorf("the Job ended so: %s", first)
	}
	found := s.look(t)
	r.lock = string(found.Verdict)
	if !slices.Contains(f.locks, found.Verdict) {
		t.Errorf("the lock is %s, want one of %s: %+v", found.Verdict, f.locks, found.Lock)
	}
	if f.repair != nil {
		f.repair(t, s, first.job)
		found = s.look(t)
	}
	next := s.launch(t, naming.Apply, quick, nil).end(t, s)
	r.next, r.unlock = next.short(), handedDown(next)
	s.wantClean(t, found, next)
	f.wantOnce(t, s, first)
}

func (f fault) first(t *testing.T, s *subject) ending {
	run := s.launch(t, naming.Apply, f.variables, f.template)
	if f.hit != nil {
		f.hit(t, s, run.job(t))
	}
	return run.end(t, s)
}

// wantClean has the second Job succeed, with the stale lock released and no other.
func (s *subject) wantClean(t *testing.T, found lock.Finding, next ending) {
	t.Helper()
	if !succeeded(next) {
		t.Fatalf("the next Job ended so: %s", next)
	}
	want := "-"
	if found.Verdict == lock.Stale {
		want = string(result.OutcomeReleased)
	}
	if got := handedDown(next); got != want {
		t.Errorf("the unlock of the next Job: %s, want %s", got, want)
	}
	if after := s.look(t); after.Verdict != lock.Free {
		t.Errorf("in the end the lock is %s: %+v", after.Verdict, after.Lock)
	}
	if diff := cmp.Diff([]string{"first", "second"}, s.known(t)); diff != "" {
		t.Errorf("files in the state (-want +got):\n%s", diff)
	}
}

// wantOnce has no file made twice, but those that the first Job itself said it had made and not saved.
func (f fault) wantOnce(t *testing.T, s *subject, first ending) {
	t.Helper()
	unsaved := map[string]bool{}
	if first.result != nil && first.result.Unsaved != nil {
		for _, r := range first.result.Unsaved.Resources {
			unsaved["create "+strings.TrimPrefix(r.Address, "probe_file.")] = true
		}
	}
	did := map[string]int{}
	for _, line := range s.ledger(t) {
		did[line]++
	}
	for line, times := range did {
		if times > 1 && !(f.lost && (first.result == nil || unsaved[line])) {
			t.Errorf("%s: %d times; the first Job said of it: %v", line, times, first.document)
		}
	}
	if did["create first"] == 0 || did["create second"] == 0 {
		t.Errorf("what the provider did: %v", did)
	}
}

// handedDown is what became of a lock ID that a Job was given, "-" when there was none.
func handedDown(e ending) string {
	if e.result == nil || e.result.Lock == nil || e.result.Lock.ForceUnlock == nil {
		return "-"
	}
	return string(e.result.Lock.ForceUnlock.Outcome)
}

// awaitSecond waits until the second file is in the making: the first is there, and the lock is held.
func (s *subject) awaitSecond(t *testing.T) {
	t.Helper()
	poll(t, "the first file", func(context.Context) (bool, error) { return s.made("first"), nil })
	if found := s.look(t); found.Verdict != lock.Alive {
		t.Fatalf("while the apply runs, its lock is %s", found.Verdict)
	}
}

// pod is the name of a Job's only pod.
func (s *subject) pod(t *testing.T, job *batchv1.Job) (name string) {
	t.Helper()
	poll(t, "the pod of "+job.Name, func(ctx context.Context) (bool, error) {
		pods := s.pods.of(job.Name)
		if len(pods) > 0 {
			name = pods[0].Name
		}
		return len(pods) > 0, nil
	})
	return name
}

func (s *subject) deletePod(t *testing.T, job *batchv1.Job, options metav1.DeleteOptions) {
	t.Helper()
	if err := s.client.CoreV1().Pods(s.object.Namespace).Delete(t.Context(), s.pod(t, job), options); err != nil {
		t.Fatal(err)
	}
}
