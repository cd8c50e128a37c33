package launch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/naming"
)

// spoiler stands for what goes wrong between a client and its server, which no real server does on demand.
type spoiler func(r *http.Request, ask func() (*http.Response, error)) (*http.Response, error)

var spoilers = map[string]spoiler{
	// A load balancer that does not reach the server, or a server that does not serve the resource yet.
	"page": func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return answer(r, http.StatusNotFound, "404 page not found"), nil
	},
	// It is done, and the gateway has waited too long.
	"late": func(r *http.Request, ask func() (*http.Response, error)) (*http.Response, error) {
		done, err := ask()
		if err != nil {
			return nil, err
		}
		return answer(r, http.StatusGatewayTimeout, "<html>"), done.Body.Close()
	},
	// It is done, and half of the answer arrives.
	"cut": func(_ *http.Request, ask func() (*http.Response, error)) (*http.Response, error) {
		done, err := ask()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(done.Body)
		done.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), errReader{io.ErrUnexpectedEOF}))
		return done, err
	},
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// Every request of a run and of the destroy after it is spoilt when it is made for the first time, in another life when
// it is made for the second time, and so on. The launcher goes on, and it always ends in the same place: no answer that
// says nothing is taken for one that there is nothing.
func TestEachAnswerIsSpoilt(t *testing.T) {
	namespace := kubetest.Shared(t).Namespace(t)
	for kind := range spoilers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for time := 1; spoilAt(t, namespace, kind, time) && !t.Failed(); time++ {
			}
		})
	}
}

// spoilAt has a launcher run and destroy an object, and reports whether it made any request so often.
func spoilAt(t *testing.T, namespace, kind string, time int) (spoilt bool) {
	t.Helper()
	f := newFixture(t, kubetest.Shared(t).Clientset(), namespace, fmt.Sprintf("%s-%d", kind, time))
	f.leaveStaleLock()
	m, client := newMortal(t, 1<<20, false)
	times := map[string]int{}
	m.Spoil = func(r *http.Request, ask func() (*http.Response, error)) (*http.Response, error) {
		what := r.Method + " " + r.URL.String()
		if times[what]++; times[what] == time {
			spoilt = true
			return spoilers[kind](r, ask)
		}
		return ask()
	}
	l := &Launcher{Clients: NewClients(client, namespace)}
	f.lives(l, func(r Report) bool { return r.Decision.Action == Idle })
	f.wantOneRun(true, 1)
	f.object.desired = Desired{Op: naming.Destroy, InputsHash: "h2:1"}
	f.lives(l, func(r Report) bool { return r.Gone })
	f.wantDestroyed()
	if t.Failed() {
		t.Logf("in life %d of %s: %v", time, kind, m.Calls())
	}
	return spoilt
}

// lives has a launcher make passes, of which some may fail, until over, and plays the kubelet meanwhile.
func (f *fixture) lives(l *Launcher, over func(Report) bool) {
	f.Helper()
	for range maxPasses {
		if r, err := l.Pass(f.Context(), f.object); err == nil && over(r) {
			return
		}
		f.endJobsWithoutPod()
	}
	f.Error("the passes come to no end")
}

// endJobsWithoutPod has every Job end that has not, and leave its result in the ConfigMap alone.
func (f *fixture) endJobsWithoutPod() {
	f.Helper()
	runs := f.jobs()
	for _, r := range runs {
		if r.Finished {
			continue
		}
		left := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: resultName(r.Name)}, Data: map[string]string{
			resultKey: strings.Replace(jobtest.Succeeded.Message, "apply", string(r.Op), 1),
		}}
		if _, err := f.client.CoreV1().ConfigMaps(f.object.id.Namespace).Create(f.Context(), left, metav1.CreateOptions{}); err != nil {
			f.Error(err)
		}
		if err := f.kubelet.Run(f.Context(), r.Name, jobtest.End{NoPod: true, Serial: 1 + len(runs)}); err != nil {
			f.Error(err)
		}
	}
}

// wantDestroyed looks for what a cleanup leaves: the copies alone.
func (f *fixture) wantDestroyed() {
	f.Helper()
	owner := naming.LabelOwnerName + "=" + f.object.id.Name
	if got := f.secrets(owner + ",!" + naming.LabelBackup); len(got) > 0 {
		f.Errorf("secrets are left: %v", got)
	}
	if got := f.leases(owner); len(got) > 0 {
		f.Errorf("leases are left: %v", got)
	}
	for _, r := range f.jobs() {
		if r.verdict() != Succeeded || r.Outcome.Untouched || r.Outcome.Source != SourceConfigMap {
			f.Errorf("job %s: %+v", r.Name, r.Outcome)
		}
	}
}
