//go:build e2e

package cluster

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf/captf-runner/internal/tools"
)

// torture runs the faults that take minutes, too.
var torture = os.Getenv("CAPTF_TORTURE") != ""

func TestMain(m *testing.M) {
	// Pods mostly start, wait and end: more of them than there are processors can do so at once.
	_ = flag.Set("test.parallel", "6")
	code := m.Run()
	report.print()
	os.Exit(code)
}

// kubeconfig is that of the cluster of scripts/cluster.sh.
func kubeconfig(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("CAPTF_CLUSTER_DIR")
	if dir == "" {
		dir = filepath.Join(tools.Root(tb), ".tools", "cluster")
	}
	path := filepath.Join(dir, "pki", "admin.kubeconfig")
	if _, err := os.Stat(filepath.Join(dir, "node.pid")); err != nil {
		tb.Fatalf("no cluster is up: %v; use make e2e, or scripts/cluster.sh up", err)
	}
	return path
}

// admin is a client without a rate limit.
func admin(tb testing.TB) *kubernetes.Clientset {
	tb.Helper()
	client, err := connect(kubeconfig(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// connect makes one client for all tests.
var connect = func() func(string) (*kubernetes.Clientset, error) {
	var once sync.Once
	var client *kubernetes.Clientset
	var failed error
	return func(path string) (*kubernetes.Clientset, error) {
		once.Do(func() {
			config, err := clientcmd.BuildConfigFromFlags("", path)
			if err != nil {
				failed = err
				return
			}
			config.QPS = -1
			client, failed = kubernetes.NewForConfig(config)
		})
		return client, failed
	}
}()

// kubectl runs the kubectl of the tools.
func kubectl(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := tryKubectl(tb, args...)
	if err != nil {
		tb.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
	return out
}

// kubectlIn gives it something to read.
func kubectlIn(tb testing.TB, stdin string, args ...string) {
	tb.Helper()
	cmd := exec.Command(tools.Bin(tb, "kubectl"), append([]string{"--kubeconfig", kubeconfig(tb)}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
}

func tryKubectl(tb testing.TB, args ...string) (string, error) {
	cmd := exec.Command(tools.Bin(tb, "kubectl"), append([]string{"--kubeconfig", kubeconfig(tb)}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// node runs scripts/cluster.sh: to stop and start a component, or a command on the node.
func node(tb testing.TB, args ...string) string {
	tb.Helper()
	cmd := exec.Command(filepath.Join(tools.Root(tb), "scripts", "cluster.sh"), args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("cluster.sh %q: %v\n%s", args, err, out)
	}
	return string(out)
}
