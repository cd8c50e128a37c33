//go:build e2e

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/transcript"
	"github.com/captf/captf-runner/runner/launch/cli"
	"github.com/captf/captf-runner/runner/naming"
)

// launcher is `captf launch` for one object, with real pods.
type launcher struct {
	*subject
	root       string
	interrupts chan os.Signal
}

func newLauncher(t *testing.T, runtime string) *launcher {
	t.Helper()
	l := &launcher{subject: newSubject(t, runtime), root: t.TempDir(), interrupts: make(chan os.Signal, 1)}
	l.files(t, "0s")
	return l
}

// files writes a root of two files, the second of which takes so long. They are in the pod, and go with it.
func (l *launcher) files(t *testing.T, delay string) {
	t.Helper()
	text := strings.ReplaceAll(root, dataDir, "/captf/work") + `
output "first" { value = probe_file.first.path }
output "hidden" {
  value     = probe_file.first.path
  sensitive = true
}
`
	for name, content := range map[string]string{"main.tf": text, "terraform.tfvars.json": `{"second":"` + delay + `"}`} {
		if err := os.WriteFile(filepath.Join(l.root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// launched is one command line.
type launched struct {
	out, log transcript.Transcript
	code     chan int
}

func (l *launcher) begin(t *testing.T, op string, more ...string) *launched {
	t.Helper()
	done := &launched{code: make(chan int, 1)}
	c := cli.New(cli.Env{
		Name: func() string { return "captf" }, In: strings.NewReader("stop\n"), Out: &done.out, Err: &done.log, Terminal: true, Interrupts: l.interrupts,
		Connect: func() (kubernetes.Interface, string, error) { return l.client, l.object.Namespace, nil },
		Kind:    func(string) (naming.Kind, bool) { return naming.Cluster, true },
		Poll:    500 * time.Millisecond,
	})
	c.SetArgs(append([]string{
		op, "tc/" + l.object.Name, "--image", "localhost/captf-example-mirror-" + l.runtime + ":dev",
		"--runner-image", "localhost/captf-runner:dev", "--image-pull-policy", "Never", "-f", l.root,
	}, more...))
	c.SilenceErrors, c.SilenceUsage = true, true
	go func() {
		var exit cli.Exit
		err := c.ExecuteContext(context.WithoutCancel(t.Context()))
		errors.As(err, &exit)
		done.code <- exit.Code
	}()
	return done
}

// ends waits for the end of a command, which has to have this code and to have said this.
func (d *launched) ends(t *testing.T, code int, texts ...string) {
	t.Helper()
	select {
	case got := <-d.code:
		if got != code {
			t.Errorf("exit code %d, want %d\n%s%s", got, code, &d.out, &d.log)
		}
	case <-time.After(limit):
		t.Fatalf("it does not end\n%s%s", &d.out, &d.log)
	}
	for _, text := range texts {
		if !strings.Contains(d.out.String()+d.log.String(), text) {
			t.Errorf("it does not say %q\n%s%s", text, &d.out, &d.log)
		}
	}
}

func (d *launched) says(t *testing.T, text string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("%s%s", &d.out, &d.log)
		}
	}()
	poll(t, text+" in the log", func(context.Context) (bool, error) { return strings.Contains(d.log.String(), text), nil })
}

func (l *launcher) must(t *testing.T, code int, op string, more ...string) *launched {
	t.Helper()
	d := l.begin(t, op, more...)
	d.ends(t, code)
	return d
}

// captf launch from the first apply to nothing.
func TestLaunchLife(t *testing.T) {
	for _, runtime := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			l := newLauncher(t, runtime)
			hash := strings.TrimSpace(l.must(t, 0, "plan").out.String())
			l.begin(t, "apply", "--approve", "p2:"+strings.Repeat("0", 64)).ends(t, 4, "PlanChanged", hash)
			d := l.must(t, 0, "apply", "--approve", hash)
			if got, want := d.out.String(), "first = \"/captf/work/first\"\nhidden = (sensitive)\n"; got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
			if !strings.Contains(d.log.String(), "Apply complete!") || !strings.Contains(d.log.String(), "2 added") {
				t.Errorf("neither the log nor the end of the apply:\n%s", &d.log)
			}
			l.begin(t, "drift").ends(t, 0, "drift: ") // the pod took its files with it
			l.must(t, 0, "refresh")
			l.begin(t, "destroy").ends(t, 0, "destroy succeeded")
			_, err := l.client.CoreV1().Secrets(l.object.Namespace).Get(t.Context(), naming.StateSecret(l.suffix, 0), metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("the state is left: %v", err)
			}
		})
	}
}

// After each death the outcome is known, and the next launch ends clean: a lock that is left is handed down.
func TestLaunchAfterDeath(t *testing.T) {
	const second = "probe_file.second: Creating"
	tests := map[string]struct {
		more []string
		hit  func(t *testing.T, l *launcher, d *launched)
		code int
		says string
		next string
	}{
		"runner killed":       {nil, func(t *testing.T, l *launcher, d *launched) { l.kill(t) }, 3, `"reason":"killed"`, "ForceUnlocked"},
		"stopped by a person": {nil, func(t *testing.T, l *launcher, d *launched) { l.interrupts <- os.Interrupt }, 3, `"verdict":"Interrupted"`, ""},
		// The Job's deadline deletes the pod: the result is in the ConfigMap, too.
		"deadline": {[]string{"--deadline", "40s", "--lock-timeout", "5s"}, func(*testing.T, *launcher, *launched) {}, 3, `"reason":"deadline"`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLauncher(t, "opentofu")
			l.files(t, "5m")
			d := l.begin(t, "apply", append(tt.more, "-o", "json")...)
			d.says(t, second)
			tt.hit(t, l, d)
			d.ends(t, tt.code, tt.says)
			// Whichever the launcher read: the termination message, which names the ConfigMap, or the ConfigMap itself.
			if tt.next == "" && !strings.Contains(d.out.String(), `"document":`) && !strings.Contains(d.out.String(), `"source":"configmap"`) {
				t.Errorf("the runner left no ConfigMap for the case that the pod is gone first:\n%s", &d.out)
			}
			l.files(t, "0s")
			l.begin(t, "apply").ends(t, 0, "apply succeeded", tt.next)
			if found := l.look(t); found.Lock.Held() {
				t.Errorf("the lock is held: %+v", found)
			}
		})
	}
}

// kill ends the runner of the only Job with SIGKILL.
func (l *launcher) kill(t *testing.T) {
	t.Helper()
	jobs, err := l.client.BatchV1().Jobs(l.object.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(jobs.Items) != 1 {
		t.Fatalf("%d Jobs, %v", len(jobs.Items), err)
	}
	pid, err := strconv.Atoi(filepath.Base(runnerProcess(t, &jobs.Items[0])))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatalf("kill the runner of the Job: %v", err)
	}
}
