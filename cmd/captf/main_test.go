package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
)

// asProgram makes the test binary the program itself.
const asProgram = "CAPTF_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(kubetest.Run(m))
}

// program is how captf is started.
type program struct {
	kubeconfig string
	env        []string
	in         string
	argv0      string
}

// ended is what it left.
type ended struct {
	code     int
	out, err string
}

func (p program) run(t *testing.T, args ...string) ended {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	if p.argv0 != "" {
		cmd.Args[0] = p.argv0
	}
	cmd.Env = append([]string{asProgram + "=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + p.kubeconfig}, p.env...)
	cmd.Stdin = strings.NewReader(p.in)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// want fails unless the run ended with the code, and printed all of these.
func (e ended) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if e.code != code {
		t.Errorf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", e.code, code, e.out, e.err)
	}
	for _, text := range texts {
		if !strings.Contains(e.out+e.err, text) {
			t.Errorf("no %q in\nstdout:\n%s\nstderr:\n%s", text, e.out, e.err)
		}
	}
}

// decode reads what -o json printed, and refuses fields that v has not.
func (e ended) decode(t *testing.T, v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(e.out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%v in\n%s%s", err, e.out, e.err)
	}
}

// operatorRules are the rights that docs/captf.md names.
var operatorRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "update"}},
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create"}},
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
}

// operator is captf for somebody with those rights in the object's namespace.
func operator(t *testing.T, c *statetest.Cluster) program {
	t.Helper()
	return program{kubeconfig: kubetest.Shared(t).Kubeconfig(t, c.Object.Namespace, operatorRules)}
}

// admin is captf for a cluster admin.
func admin(t *testing.T) program {
	t.Helper()
	rest := kubetest.Shared(t).Config()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: rest.Host, CertificateAuthorityData: rest.CAData}
	config.AuthInfos["a"] = &clientcmdapi.AuthInfo{ClientCertificateData: rest.CertData, ClientKeyData: rest.KeyData}
	config.Contexts["admin"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "a"}
	config.CurrentContext = "admin"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return program{kubeconfig: path}
}
