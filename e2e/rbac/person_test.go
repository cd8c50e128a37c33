package rbac

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/transcript"
	"github.com/captf/captf-runner/runner/launch/cli"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// person runs `captf launch` at a terminal, as a ServiceAccount with some rights. The kubelet is played.
type person struct {
	admin, own *kubernetes.Clientset
	kubelet    jobtest.Kubelet
	namespace  string
	interrupts chan os.Signal
	screen     transcript.Transcript
	code       chan int
}

func newPerson(t *testing.T, granted []right) *person {
	t.Helper()
	server := kubetest.Shared(t)
	p := &person{admin: server.Clientset(), namespace: server.Namespace(t), interrupts: make(chan os.Signal, 1), code: make(chan int, 1)}
	p.own = client(t, server.Kubeconfig(t, p.namespace, rules(granted)))
	p.kubelet = jobtest.Kubelet{Client: p.admin, Object: naming.Object{Kind: naming.Cluster, Namespace: p.namespace, Name: "prod", Cluster: "prod"}}
	return p
}

// launch begins an apply, and returns its Job.
func (p *person) launch(t *testing.T) (job batchv1.Job) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "main.tf.json"), []byte("{}"), 0o600))
	c := cli.New(cli.Env{
		Name: func() string { return "captf" }, In: strings.NewReader("stop\n"), Out: &p.screen, Err: &p.screen, Terminal: true, Interrupts: p.interrupts,
		Connect: func() (kubernetes.Interface, string, error) { return p.own, p.namespace, nil },
		Kind:    func(string) (naming.Kind, bool) { return naming.Cluster, true },
		Poll:    10 * time.Millisecond,
	})
	c.SetArgs([]string{"apply", "tc/prod", "--image", "module", "-f", dir})
	c.SilenceErrors, c.SilenceUsage = true, true
	go func() {
		var exit cli.Exit
		errors.As(c.ExecuteContext(context.WithoutCancel(t.Context())), &exit)
		p.code <- exit.Code
	}()
	p.await(t, "has no pod yet")
	jobs, err := p.admin.BatchV1().Jobs(p.namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	return jobs.Items[0]
}

func (p *person) shows(text string) bool { return strings.Contains(p.screen.String(), text) }

func (p *person) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !p.shows(text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q within a minute:\n%s", text, &p.screen)
		}
	}
}

// ends ends the Job, and returns the exit code of the command.
func (p *person) ends(t *testing.T, job batchv1.Job, e jobtest.End) int {
	t.Helper()
	must(t, p.kubelet.Run(t.Context(), job.Name, e))
	return p.exit(t)
}

func (p *person) exit(t *testing.T) int {
	t.Helper()
	select {
	case code := <-p.code:
		return code
	case <-time.After(time.Minute):
		t.Fatal("the command does not end")
		return -1
	}
}

// pod makes a pod of the Job that waits for a node.
func (p *person) pod(t *testing.T, job batchv1.Job) *corev1.Pod {
	t.Helper()
	labels := map[string]string{batchv1.JobNameLabel: job.Name, batchv1.ControllerUidLabel: string(job.UID)}
	for key, value := range job.Spec.Template.Labels {
		labels[key] = value
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: job.Name + "-9zzzz", Labels: labels}, Spec: job.Spec.Template.Spec}
	made, err := p.admin.CoreV1().Pods(p.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
	p.await(t, "job "+job.Name+" runs")
	return made
}

// stops interrupts the command, and has it stop the Job.
func (p *person) stops(t *testing.T) bool {
	job := p.launch(t)
	p.pod(t, job)
	p.interrupts <- os.Interrupt
	p.await(t, "[stop/watch]")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if p.shows("is told to stop") {
			return p.ends(t, job, jobtest.End{NoPod: true, Condition: batchv1.JobReasonBackoffLimitExceeded}) == result.ExitRetry
		}
		if len(p.code) > 0 {
			return p.exit(t) != result.ExitFailed // forbidden
		}
	}
	t.Fatal("it neither stops the Job nor ends")
	return false
}

// reads has the log of the Job's pod shown: there is a kubelet that knows nothing else.
func (p *person) reads(t *testing.T) bool {
	const text = "hello from the runner"
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/containerLogs/"+p.namespace+"/") {
			_, _ = w.Write([]byte(text + "\n"))
		}
	}))
	t.Cleanup(kubelet.Close)
	p.kubelet.Node = p.node(t, kubelet.Listener.Addr())
	if code := p.ends(t, p.launch(t), jobtest.Succeeded); code != 0 {
		t.Errorf("exit code %d: a log that may not be read is no reason to fail", code)
	}
	return p.shows(text)
}

// node is one whose kubelet is at the address.
func (p *person) node(t *testing.T, kubelet net.Addr) string {
	t.Helper()
	host, port, err := net.SplitHostPort(kubelet.String())
	must(t, err)
	number, err := strconv.ParseInt(port, 10, 32)
	must(t, err)
	nodes := p.admin.CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}, metav1.CreateOptions{})
	must(t, err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	must(t, err)
	return node.Name
}

// isWarned has an event about the Job shown. The pass that looks at the pod, which is made later, looks for events, too.
func (p *person) isWarned(t *testing.T) bool {
	job := p.launch(t)
	warning := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "e-"},
		InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: job.Name, Namespace: p.namespace},
		Type:           corev1.EventTypeWarning, Reason: "FailedCreate", Message: "exceeded quota",
	}
	_, err := p.admin.CoreV1().Events(p.namespace).Create(t.Context(), warning, metav1.CreateOptions{})
	must(t, err)
	must(t, p.admin.CoreV1().Pods(p.namespace).Delete(t.Context(), p.pod(t, job).Name, metav1.DeleteOptions{}))
	if code := p.ends(t, job, jobtest.Succeeded); code != 0 {
		t.Errorf("exit code %d: events that may not be read are no reason to fail", code)
	}
	return p.shows("exceeded quota")
}
