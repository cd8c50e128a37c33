package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
)

// faultyCluster is a fixture on the real API server with faults: the run goes to it through a proxy of the test. The
// test itself looks at it directly.
func faultyCluster(t *testing.T, runtime tools.Runtime) (*fixture, *kubernetes, *faults) {
	t.Helper()
	f, k := clusterFixture(t, runtime)
	h := &faults{closed: make(chan struct{})}
	proxy := httptest.NewTLSServer(h.wrap(k.server.Forward(t)))
	t.Cleanup(proxy.Close)
	t.Cleanup(func() { close(h.closed) })
	k.kubeconfig = kubetest.Redirect(t, k.kubeconfig, proxy.URL, proxy.Certificate())
	return f, k, h
}

// about matches the requests about objects of a resource, such as events.
func about(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path+"/", "/"+resource+"/") }
}

// TestHungCluster has the API server stop answering in the middle of an apply: the run that is stopped ends inside its
// budget, and says which lock its child could not release and what may be there without a state. Neither events nor the
// copy of its result for the Job make it late.
func TestHungCluster(t *testing.T) {
	t.Parallel()
	const budget = 12 * time.Second
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f, k, h := faultyCluster(t, runtime)
		f.slow(t, "5m", false)
		l := f.start(t, "apply", "--lock-timeout", "0", "--stop-timeout", budget.String(),
			"--event-object", "v1/ConfigMap/"+k.object.Namespace+"/x/uid", "--job-name", "the-job", "--job-uid", jobUID)
		l.says(t, creatingFirst)
		l.await(t, "the lock is known", func() bool { r := l.partial(); return r != nil && r.Lock.ID != "" })
		h.harms(when(everything, hangs))
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		l.insideBudget(t, budget)
		wantInterrupted(t, o, "apply")
		wantInFlight(t, o, "probe_file.first")
		if id := k.holder(t); id == "" || o.result.Lock.ID != id || o.result.Lock.Released {
			t.Errorf("lock = %+v, it is held by %q\n%s", o.result.Lock, id, o)
		}
	})
}

// TestHungEvents has an API server that answers everything but events: the run does not wait for them.
func TestHungEvents(t *testing.T) {
	t.Parallel()
	f, k, h := faultyCluster(t, tools.Runtimes(t)[0])
	h.harms(when(about("events"), hangs))
	f.must(t, 0, "apply", "--event-object", "v1/ConfigMap/"+k.object.Namespace+"/x/uid")
	f.wantState(t, both...)
}

// writesSecret matches the requests with which a state is saved into its Secret.
func (k *kubernetes) writesSecret(r *http.Request) bool {
	return r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/secrets/"+naming.StateSecret(k.suffix, 0))
}
