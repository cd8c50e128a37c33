package rbac

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// job is a Job without a pod: the test runs the runner in its place, as a ServiceAccount with some rights.
type job struct {
	server     *kubetest.Server
	runtime    tools.Runtime
	namespace  string
	kubeconfig string
	object     *batchv1.Job
	dir        string
}

func newJob(t *testing.T, runtime tools.Runtime, granted []right) *job {
	t.Helper()
	j := &job{server: kubetest.Shared(t), runtime: runtime, dir: t.TempDir()}
	j.namespace = j.server.Namespace(t)
	j.kubeconfig = j.server.Kubeconfig(t, j.namespace, rules(granted))
	object := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "demo-apply"}, Spec: batchv1.JobSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "runner", Image: "none"}},
		}},
	}}
	var err error
	j.object, err = j.server.Clientset().BatchV1().Jobs(j.namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// outcome is what a run left.
type outcome struct {
	code   int
	result *result.Result
	text   string // all that it printed
}

// apply applies a root of some resources.
func (j *job) apply(t *testing.T, resources int) outcome {
	t.Helper()
	j.write(t, "config/main.tf", manyResources(resources))
	o := j.run(t, "--op=apply", "--lock-timeout=0", "--config="+filepath.Join(j.dir, "config"), "--module="+filepath.Join(j.dir, "config"))
	if o.result == nil {
		t.Fatalf("no result:\n%s", o.text)
	}
	return o
}

// manyResources needs no provider. The names are long, so that the addresses alone make a large plan.
func manyResources(n int) string {
	const long = "a_name_of_sixty_characters_that_makes_the_result_document_large"
	return `resource "terraform_data" "` + long + `" { count = ` + strconv.Itoa(n) + ` }`
}

func (j *job) run(t *testing.T, flags ...string) (o outcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	document := filepath.Join(j.dir, "result.json")
	about := strings.Join([]string{"batch/v1", "Job", j.namespace, j.object.Name, string(j.object.UID)}, "/")
	args := append([]string{"run", "--bin", j.runtime.Path, "--workdir", filepath.Join(j.dir, "work"), "--result", document,
		"--event-object", about, "--job-name", j.object.Name, "--job-uid", string(j.object.UID), "--backend", "kubernetes",
		"--backend-config", "secret_suffix=demo", "--backend-config", "namespace=" + j.namespace, "--backend-config", "config_path=" + j.kubeconfig}, flags...)
	cmd := exec.CommandContext(ctx, tools.Build(t, "./cmd/captf-runner"), args...)
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH")}, j.dir
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	o.code, o.text = cmd.ProcessState.ExitCode(), out.String()
	if data, err := os.ReadFile(document); err == nil {
		o.text += string(data)
		if o.result, err = result.Decode(data); err != nil {
			t.Fatalf("result: %v\n%s", err, o.text)
		}
	}
	return o
}

func (j *job) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(j.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
