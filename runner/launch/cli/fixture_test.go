package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/transcript"
	"github.com/captf/captf-runner/runner/naming"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// terminal is a namespace of a real API server with the commands. The kubelet is played.
type terminal struct {
	*testing.T
	client     kubernetes.Interface
	namespace  string
	object     naming.Object
	kubelet    jobtest.Kubelet
	out, err   *transcript.Transcript // what the commands print
	keyboard   *io.PipeWriter
	interrupts chan os.Signal
	env        Env
	dir        string
	fences     int  // see passes
	full       bool // nothing can be printed
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func setUp(t *testing.T) *terminal {
	t.Helper()
	server := kubetest.Shared(t)
	term := &terminal{T: t, client: server.Clientset(), namespace: server.Namespace(t), interrupts: make(chan os.Signal, 1), dir: t.TempDir()}
	term.object = naming.Object{Kind: naming.Cluster, Namespace: term.namespace, Name: "prod", Cluster: "prod"}
	term.kubelet = jobtest.Kubelet{Client: term.client, Object: term.object}
	keys, keyboard := io.Pipe()
	term.keyboard = keyboard
	t.Cleanup(func() { _ = keyboard.Close() })
	term.env = Env{
		Name: func() string { return "captf" }, In: keys, Interrupts: term.interrupts, Poll: 10 * time.Millisecond,
		Connect: func() (kubernetes.Interface, string, error) { return term.client, term.namespace, nil },
		Kind: func(s string) (naming.Kind, bool) {
			kind, ok := map[string]naming.Kind{"tc": naming.Cluster, "tm": naming.Machine}[s]
			return kind, ok
		},
	}
	term.write("main.tf.json", "{}")
	term.clear()
	return term
}

func (t *terminal) clear() { t.out, t.err = &transcript.Transcript{}, &transcript.Transcript{} }

func (t *terminal) write(name, text string) string {
	t.Helper()
	path := filepath.Join(t.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a command line and returns its exit code.
func (t *terminal) run(args ...string) int {
	t.Helper()
	t.env.Err = t.err
	if t.env.Out = t.out; t.full {
		t.env.Out = fullDisk{}
	}
	c := New(t.env)
	c.SetArgs(args)
	c.SetOut(io.Discard)
	c.SilenceErrors, c.SilenceUsage = true, true
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := c.ExecuteContext(ctx)
	var exit Exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		t.err.Write([]byte(err.Error()))
		return exit.Code
	}
	t.Fatalf("captf launch %v: an error without an exit code: %v", args, err)
	return -1
}

// must runs a command line that has to end with this code.
func (t *terminal) must(code int, args ...string) {
	t.Helper()
	if got := t.run(args...); got != code {
		t.Fatalf("captf launch %v: exit code %d, want %d\n%s%s", args, got, code, t.out, t.err)
	}
}

// apply are the arguments of an apply with these more.
func (t *terminal) args(op string, more ...string) []string {
	return append([]string{op, "tc/prod", "--image", "module", "-f", t.dir}, more...)
}

// begin runs a command line in the background.
func (t *terminal) begin(args ...string) (code <-chan int) {
	t.Helper()
	ended := make(chan int, 1)
	go func() { ended <- t.run(args...) }()
	return ended
}

// job waits for the active Job.
func (t *terminal) job() string {
	t.Helper()
	name := ""
	t.await("a Job", func() bool {
		list, err := t.client.BatchV1().Jobs(t.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false
		}
		for _, j := range list.Items {
			if len(j.Status.Conditions) == 0 {
				name = j.Name
			}
		}
		return name != ""
	})
	return name
}

// end ends the Job that a command in the background has started.
func (t *terminal) end(e jobtest.End) string {
	t.Helper()
	job := t.job()
	if err := t.kubelet.Run(t.Context(), job, e); err != nil {
		t.Fatal(err)
	}
	return job
}

func (t *terminal) await(what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within a minute\n%s%s", what, t.out, t.err)
		}
	}
}

func (t *terminal) awaitText(text string) {
	t.Helper()
	t.await("text "+text, func() bool { return strings.Contains(t.err.String(), text) })
}

// code waits for the exit code of a command in the background.
func (t *terminal) code(ended <-chan int, want int) {
	t.Helper()
	select {
	case got := <-ended:
		if got != want {
			t.Fatalf("exit code %d, want %d\n%s%s", got, want, t.out, t.err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the command does not end\n%s%s", t.out, t.err)
	}
}

func (t *terminal) says(s *transcript.Transcript, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(s.String(), part) {
			t.Errorf("it does not say %q:\n%s", part, s)
		}
	}
}

func (t *terminal) jobs() []batchv1.Job {
	t.Helper()
	list, err := t.client.BatchV1().Jobs(t.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}
