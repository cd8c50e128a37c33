package launch

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/naming"
)

// A config Secret without a Job goes with the books of another run, unless a launcher has written it a moment ago,
// however long ago another one made it: its Job is about to be created.
func TestConfigLeftBehind(t *testing.T) {
	const later = 10 * time.Minute
	for name, tt := range map[string]struct {
		written time.Duration
		stays   bool
	}{"by a dead launcher": {0, false}, "by one that is at work": {later, true}} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			job := f.start()
			left := f.leaveConfig(time.Now().Add(tt.written))
			f.launcher.Now = func() time.Time { return time.Now().Add(later) }
			f.finish(job, jobtest.Succeeded)
			if got := f.secrets(LabelConfig); slices.Contains(got, left) != tt.stays {
				t.Errorf("config secrets are left: %v, want %s among them: %v", got, left, tt.stays)
			}
		})
	}
}

// leaveConfig makes the config Secret of a Job that is not there.
func (f *fixture) leaveConfig(written time.Time) string {
	f.Helper()
	job, err := naming.JobName(f.object.id, naming.Drift, 1, "h2:1", "")
	if err != nil {
		f.Fatal(err)
	}
	owned, err := labels(f.object.id)
	if err != nil {
		f.Fatal(err)
	}
	left := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: configName(job), Labels: with(owned, LabelConfig, job),
		Annotations: map[string]string{AnnotationWritten: written.UTC().Format(time.RFC3339Nano)},
	}}
	if _, err := f.client.CoreV1().Secrets(f.object.id.Namespace).Create(f.Context(), left, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	return left.Name
}
