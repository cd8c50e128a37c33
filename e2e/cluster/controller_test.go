//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
)

// controlled is the subject as a controller shows it to package launch.
type controlled struct {
	s       *subject
	desired launch.Desired
	files   map[string][]byte
	change  func(*launch.Template)
}

func (l *controlled) Identity() naming.Object           { return l.s.object }
func (l *controlled) Reference() corev1.ObjectReference { return corev1.ObjectReference{} }
func (l *controlled) Desired() launch.Desired           { return l.desired }

func (l *controlled) Files(context.Context) (map[string][]byte, error) { return l.files, nil }

func (l *controlled) Template() launch.Template {
	t := launch.Template{
		Image: "localhost/captf-example-mirror-" + l.s.runtime + ":dev", RunnerImage: "localhost/captf-runner:dev", PullPolicy: corev1.PullIfNotPresent,
		LockTimeout: new(5 * time.Second), Deadline: 10 * time.Minute, Grace: 2 * time.Minute,
		Adjust: func(job *batchv1.Job) { l.s.withData(&job.Spec.Template.Spec) },
	}
	if l.change != nil {
		l.change(&t)
	}
	return t
}

// launching is a run that a loop of passes starts, follows and books, as a controller does.
type launching struct {
	created chan *batchv1.Job
	ended   chan launch.Run
	failed  chan error
}

func (s *subject) launch(t *testing.T, op naming.Op, variables string, change func(*launch.Template)) *launching {
	t.Helper()
	s.attempt++
	l := &launching{created: make(chan *batchv1.Job, 1), ended: make(chan launch.Run, 1), failed: make(chan error, 1)}
	o := &controlled{
		s: s, change: change,
		desired: launch.Desired{Op: op, Once: true, Tick: fmt.Sprint(s.attempt)},
		files:   map[string][]byte{"main.tf": []byte(root), "terraform.tfvars.json": []byte(variables)},
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	go func() {
		defer cancel()
		if err := s.passes(ctx, o, l); err != nil {
			l.failed <- err
		}
	}()
	return l
}

// passes is the loop. A request that fails is made again: an API server may be away.
func (s *subject) passes(ctx context.Context, o *controlled, l *launching) error {
	launcher := &launch.Launcher{Clients: launch.NewClients(s.client, s.object.Namespace)}
	for {
		report, err := launcher.Pass(ctx, o)
		switch last := report.Last(o.desired); {
		case err != nil:
		case last != nil:
			l.ended <- *last
			return nil
		case report.Decision.Action == launch.Refuse:
			return fmt.Errorf("%s: %s", report.Decision.Reason, report.Decision.Message)
		case report.Created != "":
			job, err := s.client.BatchV1().Jobs(s.object.Namespace).Get(ctx, report.Created, metav1.GetOptions{})
			if err != nil {
				return err
			}
			l.created <- job
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the run never ended; the last pass: %+v, %w", report.Decision, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// job is the Job of the run, once it is there.
func (l *launching) job(t *testing.T) *batchv1.Job {
	t.Helper()
	select {
	case job := <-l.created:
		return job
	case err := <-l.failed:
		t.Fatalf("launch: %v", err)
	}
	return nil
}

// end is how the run ended, by its books and by what was seen of its pod.
func (l *launching) end(t *testing.T, s *subject) (e ending) {
	t.Helper()
	var run launch.Run
	select {
	case run = <-l.ended:
	case err := <-l.failed:
		t.Fatalf("launch: %v", err)
	}
	e.condition, e.result, e.exit = string(run.Outcome.Verdict), run.Outcome.Result, -1
	e.job, e.document = run.Name, run.Outcome.Message
	for _, pod := range s.pods.of(run.Name) {
		if state := terminated(pod); state != nil {
			e.exit, e.reason = state.ExitCode, state.Reason
		}
	}
	return e
}
