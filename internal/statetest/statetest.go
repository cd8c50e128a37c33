// Package statetest has real runtimes keep states in a real API server, for tests.
//
// A Cluster is one object in a namespace of its own. Apply has a runtime write its state through the kubernetes
// backend; Put stores any bytes as its state, cut into chunks as a Terraform that splits states cuts them.
package statetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
)

const (
	// ChunkSize is how much of a compressed state Terraform puts into one Secret, in bytes.
	ChunkSize = 1 << 20

	runTimeout = 3 * time.Minute // of one command on a busy machine
)

// Cluster is one object and the namespace that it has for itself.
type Cluster struct {
	Object     naming.Object
	Suffix     string
	Secrets    coreclient.SecretInterface
	Leases     coordinationclient.LeaseInterface
	kubeconfig string
}

// New makes a namespace with a machine in it that has no state yet.
func New(tb testing.TB, server *kubetest.Server) *Cluster {
	tb.Helper()
	namespace := server.Namespace(tb)
	object := naming.Object{Kind: naming.Machine, Namespace: namespace, Name: "worker-0", Cluster: "prod"}
	return &Cluster{
		Object: object, Suffix: naming.Suffix(object),
		Secrets:    server.Clientset().CoreV1().Secrets(namespace),
		Leases:     server.Clientset().CoordinationV1().Leases(namespace),
		kubeconfig: server.Kubeconfig(tb, namespace, server.RunnerRules()),
	}
}

// As returns the clients of a ServiceAccount that may do what the rules say in the namespace, and nothing else.
func (c *Cluster) As(tb testing.TB, server *kubetest.Server, rules ...rbacv1.PolicyRule) (coreclient.SecretInterface, coordinationclient.LeaseInterface) {
	tb.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig(tb, c.Object.Namespace, rules))
	if err != nil {
		tb.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		tb.Fatal(err)
	}
	return client.CoreV1().Secrets(c.Object.Namespace), client.CoordinationV1().Leases(c.Object.Namespace)
}

// Module is a root module with its working directory.
type Module struct {
	Dir     string
	runtime tools.Runtime
	env     []string
}

// Init makes a working directory for the module on the object's state and initialises it. env is added to the
// environment, such as TF_ENCRYPTION. labels are those of the backend.
func (c *Cluster) Init(tb testing.TB, runtime tools.Runtime, module string, labels map[string]string, env ...string) *Module {
	tb.Helper()
	m := newModule(tb, runtime, "terraform {\n  backend \"kubernetes\" {}\n}\n"+module, env)
	config := []string{
		"secret_suffix=" + c.Suffix, "namespace=" + c.Object.Namespace, "config_path=" + c.kubeconfig, "labels=" + hcl(labels),
	}
	args := []string{"init", "-input=false", "-no-color"}
	for _, setting := range config {
		args = append(args, "-backend-config="+setting)
	}
	m.Must(tb, args...)
	return m
}

// Apply has a runtime apply the module on the object's state, with the labels that the object's Jobs use.
func (c *Cluster) Apply(tb testing.TB, runtime tools.Runtime, module string, env ...string) *Module {
	tb.Helper()
	labels, err := naming.Labels(c.Object)
	if err != nil {
		tb.Fatal(err)
	}
	m := c.Init(tb, runtime, module, labels, env...)
	m.Must(tb, "apply", "-input=false", "-no-color", "-auto-approve")
	return m
}

// State returns the state that a runtime writes for the module when it keeps it in a file.
func State(tb testing.TB, runtime tools.Runtime, module string) []byte {
	tb.Helper()
	m := newModule(tb, runtime, module, nil)
	m.Must(tb, "init", "-input=false", "-no-color")
	m.Must(tb, "apply", "-input=false", "-no-color", "-auto-approve")
	doc, err := os.ReadFile(filepath.Join(m.Dir, "terraform.tfstate"))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

func newModule(tb testing.TB, runtime tools.Runtime, module string, env []string) *Module {
	tb.Helper()
	m := &Module{Dir: tb.TempDir(), runtime: runtime}
	for name, text := range map[string]string{"main.tf": module, "tfrc": ""} {
		if err := os.WriteFile(filepath.Join(m.Dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	m.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.Dir, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_CLI_CONFIG_FILE=" + filepath.Join(m.Dir, "tfrc"),
	}, env...)
	return m
}

// Must runs a command of the runtime, and returns its standard output.
func (m *Module) Must(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := m.Run(tb, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Run runs a command of the runtime. The error has all that it printed.
func (m *Module) Run(tb testing.TB, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(tb.Context(), runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.runtime.Path, args...)
	cmd.Dir, cmd.Env = m.Dir, m.env
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", m.runtime.Name, strings.Join(args, " "), err, out.Bytes(), diagnostics.Bytes())
	}
	return out.String(), nil
}

// Command is a command of the runtime that was not started.
func (m *Module) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(m.runtime.Path, args...)
	cmd.Dir, cmd.Env = m.Dir, m.env
	return cmd
}

// Put stores compressed bytes as the object's state.
func (c *Cluster) Put(tb testing.TB, compressed []byte) {
	tb.Helper()
	for part := 0; part == 0 || len(compressed) > 0; part++ {
		n := min(len(compressed), ChunkSize)
		c.PutChunk(tb, naming.StateSecret(c.Suffix, part), compressed[:n])
		compressed = compressed[n:]
	}
}

// PutChunk creates a Secret with the labels of a chunk. Nil is a Secret without the key.
func (c *Cluster) PutChunk(tb testing.TB, name string, data []byte) {
	tb.Helper()
	own, err := naming.Labels(c.Object)
	if err != nil {
		tb.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: naming.BackendSelector(c.Suffix, own), Annotations: map[string]string{"encoding": "gzip"},
	}}
	if data != nil {
		secret.Data = map[string][]byte{"tfstate": data}
	}
	if _, err := c.Secrets.Create(tb.Context(), secret, metav1.CreateOptions{}); err != nil {
		tb.Fatalf("create secret %s: %v", name, err)
	}
}

// Secret returns a chunk of the state.
func (c *Cluster) Secret(tb testing.TB, part int) *corev1.Secret {
	tb.Helper()
	secret, err := c.Secrets.Get(tb.Context(), naming.StateSecret(c.Suffix, part), metav1.GetOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return secret
}

// Change changes a chunk of the state by hand.
func (c *Cluster) Change(tb testing.TB, part int, change func(*corev1.Secret)) {
	tb.Helper()
	secret := c.Secret(tb, part)
	change(secret)
	if _, err := c.Secrets.Update(tb.Context(), secret, metav1.UpdateOptions{}); err != nil {
		tb.Fatal(err)
	}
}

// Gzip compresses as the runtimes do.
func Gzip(doc []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(doc) // into memory
	_ = z.Close()
	return b.Bytes()
}

// hcl writes labels for the backend's setting; none of them needs an escape.
func hcl(labels map[string]string) string {
	var b strings.Builder
	for key, value := range labels {
		fmt.Fprintf(&b, "%q=%q,", key, value)
	}
	return "{" + strings.TrimSuffix(b.String(), ",") + "}"
}
