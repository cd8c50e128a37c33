package e2e

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// silent is a server that takes every connection and never says a word.
type silent struct {
	net.Listener
	taken chan struct{} // one for each connection
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &silent{Listener: listener, taken: make(chan struct{}, 1000)}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			s.taken <- struct{}{}
		}
	}()
	return s
}

// address is host and port.
func (s *silent) address() string { return s.Addr().String() }

// lookTimeout is how long the runner waits for an answer about the lock, when nobody stops it.
const lookTimeout = 5 * time.Second

// TestSignalWhileIdle has no child run when the signal comes: the run ends at once, however long its grace period is,
// with a result and without a further step. cases.md 21, 26.
func TestSignalWhileIdle(t *testing.T) {
	rows := []struct {
		name  string
		idle  func(t *testing.T, f *fixture, h *faults) *live // returns when the run is idle
		steps string
	}{
		{"before the first child", func(t *testing.T, f *fixture, _ *faults) *live {
			api := newSilent(t)
			f.env = f.env[:1] // without the settings of the state server
			l := f.start(t, "apply", "--stop-timeout", "15m", "--backend", "kubernetes",
				"--backend-config", "secret_suffix=x", "--backend-config", "namespace=n",
				"--backend-config", "host=https://"+api.address(), "--backend-config", "token=t0ken", "--backend-config", "insecure=true")
			<-api.taken
			return l
		}, ""},
		{"between two steps", func(t *testing.T, f *fixture, h *faults) *live {
			asked := make(chan struct{}, 100)
			h.harms(func(r *http.Request) fate {
				if !looksAtLock(r) {
					return passes
				}
				asked <- struct{}{}
				return hangs
			})
			l := f.start(t, "apply", "--stop-timeout", "15m", "--force-unlock", staleID)
			<-asked
			return l
		}, "init"},
		{"before init is tried again", func(t *testing.T, f *fixture, _ *faults) *live {
			f.stub(t, flakyInit)
			l := f.start(t, "apply", "--stop-timeout", "15m")
			l.says(t, "attempt=3") // a pause of seconds
			return l
		}, "init"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f, h := faulty(t, tools.Runtimes(t)[0])
			l := row.idle(t, f, h)
			l.signal(t, syscall.SIGTERM)
			o := l.finish(t)
			l.insideBudget(t, lookTimeout/2)
			if e := o.result.Error; o.code != result.ExitRetry || e == nil || e.Kind != result.KindInterrupted {
				t.Errorf("exit %d, error = %+v; want interrupted\n%s", o.code, e, o)
			}
			if got := o.steps(); got != row.steps {
				t.Errorf("steps %q, want %q", got, row.steps)
			}
		})
	}
}

// flakyInit never gets an answer of its registry.
const flakyInit = `[ "$1" = init ] || exec "$REAL" "$@"
echo 'Error: Failed to query available provider packages: 502 Bad Gateway returned from registry.example' >&2
exit 1
`

// TestSignalInInit stops a run while init waits for a registry that does not answer: no other step is started, and no
// process is left. cases.md 22.
func TestSignalInInit(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		registry := newSilent(t)
		_, port, _ := net.SplitHostPort(registry.address())
		f.write(t, "main.tf", strings.ReplaceAll(rootModule, "example.test/", "localhost:"+port+"/"))
		l := f.start(t, "apply", "--providers", "")
		<-registry.taken
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		wantInterrupted(t, o, "init")
		if got := o.steps(); got != "init" {
			t.Errorf("steps %q, want none after init", got)
		}
		if tail := o.result.Error.Tail; !strings.HasPrefix(tail, "the step was interrupted: signal received") {
			t.Errorf("the result says only what init has printed: %q", tail)
		}
		if state := f.backend.state(t); state != nil {
			t.Errorf("a state was written: %s", state)
		}
	})
}
