package stores

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/pki"
	"github.com/captf/captf-runner/internal/tools"
)

func deployFile(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(tools.Root(t), "deploy", "statesrv", name)
}

// TestManifestsApply gives the manifests to a real API server, with kubectl, which
// refuses fields that it does not know.
func TestManifestsApply(t *testing.T) {
	server := kubetest.Shared(t)
	config := server.Config()
	const name = "admin"
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: server.Namespace(t)}},
		CurrentContext: name,
	}, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tools.Bin(t, "kubectl"), "apply", "--validate=strict", "-f", deployFile(t, "kubernetes.yaml"))
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), " created\n") != 6 || strings.Contains(string(out), "Warning") {
		t.Errorf("apply: %v\n%s", err, out)
	}
}

// decode reads the document of a kind from the manifests.
func decode(t *testing.T, kind string, into any) {
	t.Helper()
	text, err := os.ReadFile(deployFile(t, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			t.Fatalf("no %s in the manifests", kind)
		} else if err != nil {
			t.Fatal(err)
		}
		var meta metav1.TypeMeta
		if err := json.Unmarshal(raw, &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Kind == kind {
			if err := json.Unmarshal(raw, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// settings makes a directory with what an operator puts beside a server: a
// certificate, its key and a users file with ann, whose password is pw.
func settings(t *testing.T) (dir string, ca []byte) {
	t.Helper()
	dir = t.TempDir()
	authority, err := pki.New("test")
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Issue(pki.Serving("statesrv"))
	if err != nil {
		t.Fatal(err)
	}
	users := []byte(usersLine(t, "ann", "pw"))
	for name, text := range map[string][]byte{"tls.crt": cert, "tls.key": key, "users": users} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, authority.PEM()
}

// usersLine returns a line of a users file.
func usersLine(t *testing.T, name, password string) string {
	t.Helper()
	hash := exec.CommandContext(t.Context(), tools.Build(t, "./cmd/statesrv"), "hash-password", "--user", name)
	hash.Stdin = strings.NewReader(password)
	line, err := hash.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// startAs starts a server with the arguments of a deployment, on a free port, and
// lets a user write through it.
func startAs(t *testing.T, args []string, ca []byte, env ...string) *process {
	t.Helper()
	portFile := filepath.Join(t.TempDir(), "port")
	args = append(args, "--port=0", "--port-file="+portFile) // the last one counts
	p := spawn(t, append(env, "HOME="+t.TempDir()), tools.Build(t, "./cmd/statesrv"), args...)
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(caFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(state, stateOf(1), 0o600); err != nil {
		t.Fatal(err)
	}
	p.waitFor(t, func() error {
		port, err := os.ReadFile(portFile)
		if err != nil {
			return err
		}
		push := exec.CommandContext(t.Context(), tools.Build(t, "./cmd/statesrv"), "push", "https://localhost:"+strings.TrimSpace(string(port))+"/states/s", state)
		push.Env = []string{"STATESRV_CA_FILE=" + caFile, "STATESRV_USERNAME=ann", "STATESRV_PASSWORD=pw"}
		out, err := push.CombinedOutput()
		if err != nil {
			t.Fatalf("push: %v\n%s\n%s", err, out, p.Output())
		}
		return nil
	})
	return p
}

// TestManifestsServe runs the container's command as the ServiceAccount, with what
// its Role allows.
func TestManifestsServe(t *testing.T) {
	var role rbacv1.Role
	decode(t, "Role", &role)
	var deployment appsv1.Deployment
	decode(t, "Deployment", &deployment)
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	dir, ca := settings(t)
	var args []string
	for _, arg := range deployment.Spec.Template.Spec.Containers[0].Args {
		arg = strings.ReplaceAll(arg, "$(NAMESPACE)", namespace)
		arg = strings.ReplaceAll(arg, "/etc/statesrv/tls/", dir+"/")
		arg = strings.ReplaceAll(arg, "/etc/statesrv/users/", dir+"/")
		args = append(args, strings.ReplaceAll(arg, "0.0.0.0", "127.0.0.1"))
	}
	startAs(t, args, ca, "KUBECONFIG="+server.Kubeconfig(t, namespace, role.Rules))
	secrets, err := server.Clientset().CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=statesrv"})
	if err != nil || len(secrets.Items) < 2 {
		t.Errorf("%d Secrets with states, %v", len(secrets.Items), err)
	}
}

// TestUnit runs the unit's command, reloads and stops it as systemd does.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile(deployFile(t, "statesrv.service"))
	if err != nil {
		t.Fatal(err)
	}
	line := func(key string) string {
		_, rest, ok := strings.Cut(string(text), "\n"+key+"=")
		value, _, _ := strings.Cut(rest, "\n")
		if !ok {
			t.Fatalf("the unit has no %s", key)
		}
		return value
	}
	command := strings.Fields(line("ExecStart"))
	dir, ca := settings(t)
	data := t.TempDir()
	var args []string
	for _, arg := range command[1:] {
		arg = strings.Replace(arg, "/var/lib/statesrv", data, 1)
		arg = strings.Replace(arg, "/etc/statesrv", dir, 1)
		args = append(args, strings.Replace(arg, "0.0.0.0", "127.0.0.1", 1))
	}
	p := startAs(t, args, ca)
	if _, err := os.Stat(filepath.Join(data, "s", "state.tfstate")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "users"), []byte("bob:-\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.reload(t, line("ExecReload"))
	p.stop(t)
	verifyUnit(t, string(text), command[0])
}

// verifyUnit asks systemd, where it is there, with a program that is there.
func verifyUnit(t *testing.T, text, program string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("no systemd-analyze on this machine: the unit's other settings are not looked at")
		return
	}
	unit := filepath.Join(t.TempDir(), "statesrv.service")
	text = strings.ReplaceAll(text, program, tools.Build(t, "./cmd/statesrv"))
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
