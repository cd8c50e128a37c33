package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
)

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 0, "Available Commands:"},
		{"help", 0, "Exit codes: 0 done"},
		{"lock", 0, "release"},
		{"version", 0, "captf "},
		{"version -o json", 0, `"version":`},
		{"lok", 2, `there is no command "captf lok"; captf -h lists them`},
		{"lock shw", 2, `there is no command "captf lock shw"; captf lock -h lists them`},
		{"lock show", 2, "want OBJECT, such as tc/NAME, or --suffix"},
		{"lock show a b", 2, "want one OBJECT, and got 2 arguments"},
		{"lock show tm/a --suffix b", 2, "and got both"},
		{"lock show td/a", 2, `kind "td" is unknown`},
		{"lock show tm/", 2, "is not KIND/NAME"},
		{"state pull tm/a@ --server http://127.0.0.1:1", 2, `"tm/a@": want the serial or the name of a copy behind the @`},
		{"state explain http://127.0.0.1:1/states/a", 1, "connection refused"},
		{"state explain tm/a@ --server http://127.0.0.1:1", 2, "behind the @"},
		{"state diff tm/a tm/a@ --server http://127.0.0.1:1", 2, "behind the @"},
		{"lock show tm/A_b --server http://127.0.0.1:1", 2, "is not a DNS subdomain"},
		{"lock show tm/a --frobnicate", 2, "unknown flag: --frobnicate"},
		{"state ls -o csv", 2, `-o "csv": want one of json, yaml, wide`},
		{"state ls tm/a", 2, "want no argument"},
		{"state diff tm/a", 2, "want two SOURCEs, and got 1 arguments"},
		{"state diff - -", 2, "standard input is one state"},
		{"lock show tm/a", 1, "/.kube/config: give --kubeconfig, or set KUBECONFIG"},
		{"lock show tm/a --kubeconfig /does/not/exist", 1, "/does/not/exist"},
		{"lock show tm/a --server https://127.0.0.1:1", 1, "connection refused (the cluster does not answer: look at --context"},
		{"doctor tm/a --server https://127.0.0.1:1", 1, "!!   cluster it does not answer"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			e := program{}.run(t, strings.Fields(c.args)...)
			e.want(t, c.code, c.want)
			if strings.Contains(c.args, "/states/") && strings.Contains(e.err, "cluster") {
				t.Errorf("it speaks of a cluster: %s", e.err)
			}
		})
	}
}

// An environment that names a file that is not there is a slip, so the file is named.
func TestNoKubeconfig(t *testing.T) {
	const text = "choose a cluster: no cluster is configured in /does/not/exist: give --kubeconfig, or set KUBECONFIG"
	for _, args := range []string{"lock show tm/a", "launch apply tm/a --image module"} {
		program{kubeconfig: "/does/not/exist"}.run(t, strings.Fields(args)...).want(t, 1, text)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	program{kubeconfig: "/does/not/exist"}.run(t, "lock", "show", "tm/a", "--kubeconfig", empty).want(t, 1, "no cluster is configured in "+empty+":")
}

func TestParseTarget(t *testing.T) {
	for arg, want := range map[string]target{
		"tc/a": {kind: naming.Cluster, name: "a"}, "c/a": {kind: naming.Cluster, name: "a"},
		"TerraformCluster/a": {kind: naming.Cluster, name: "a"}, "terraformmachines/a": {kind: naming.Machine, name: "a"},
		"tm/a.b": {kind: naming.Machine, name: "a.b"}, "m/a": {kind: naming.Machine, name: "a"},
		"tmp/a": {kind: naming.MachinePool, name: "a"}, "mp/a": {kind: naming.MachinePool, name: "a"},
		"a": {name: "a"},
		"lock-tfstate-default-0123456789abcdef-m":   {suffix: "0123456789abcdef-m"},
		"tfstate-default-0123456789abcdef-m-part-2": {suffix: "0123456789abcdef-m"},
		"captf-run-0123456789abcdef-m":              {suffix: "0123456789abcdef-m"},
	} {
		got, err := parseTarget(arg)
		if err != nil || got != want {
			t.Errorf("%s: %+v, error %v; want %+v", arg, got, err, want)
		}
	}
}

func TestNameAloneMayBeAmbiguous(t *testing.T) {
	t.Parallel()
	server := kubetest.Shared(t)
	c := statetest.New(t, server)
	p := operator(t, c)
	p.run(t, "lock", "show", "worker-0").want(t, 1, "nothing in namespace "+c.Object.Namespace+` belongs to an object called "worker-0"`)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	p.run(t, "lock", "show", "worker-0").want(t, 0, "tm/worker-0")
	p.run(t, "lock", "show", "--suffix", "0000000000000000-m").want(t, 1, "has the suffix 0000000000000000-m")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lock-tfstate-default-demo"}}
	if _, err := server.Clientset().CoordinationV1().Leases(c.Object.Namespace).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.run(t, "lock", "show", "--suffix", "demo").want(t, 1, "no labels that name its owner", "kubectl get lease -n "+c.Object.Namespace+" lock-tfstate-default-demo",
		"kubectl get secret -n "+c.Object.Namespace+" tfstate-default-demo -o 'jsonpath={.data.tfstate}' | base64 -d | gunzip prints it")
	pool := *c
	pool.Object.Kind = naming.MachinePool
	pool.Suffix = naming.Suffix(pool.Object)
	pool.Put(t, statetest.Gzip([]byte(document(8))))
	p.run(t, "lock", "show", "worker-0").want(t, 2, `"worker-0" is ambiguous`, "tm/worker-0, tmp/worker-0")
}

func TestFlagsChooseTheCluster(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	c.Put(t, statetest.Gzip([]byte(document(7))))
	p := admin(t)
	p.run(t, "state", "show", "tm/worker-0").want(t, 1, "StateNotFound")
	p.run(t, "state", "show", "tm/worker-0", "-n", c.Object.Namespace, "--context", "admin").want(t, 0, "StateRead")
	p.run(t, "-n", c.Object.Namespace, "--kubeconfig", p.kubeconfig, "state", "show", "tm/worker-0").want(t, 0, "StateRead")
	p.run(t, "state", "show", "tm/worker-0", "--context", "other").want(t, 1, `context "other" does not exist`)
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	c.Put(t, statetest.Gzip([]byte(document(7))))
	p := operator(t, c)
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"lock", ""}, []string{"release\tRelease a lock whose holder is dead", "show\tShow who holds the lock on a state, and whether that holder is dead", ":4"}},
		{[]string{"lock", "show", ""}, []string{"tm/worker-0", ":4"}},
		{[]string{"lock", "show", "TerraformMachine/w"}, []string{"TerraformMachine/worker-0", ":4"}},
		{[]string{"lock", "show", "tc"}, []string{":4"}},
		{[]string{"lock", "show", "tm/worker-0", ""}, []string{":4"}},
		{[]string{"state", "ls", "-o", ""}, []string{"json", "yaml", "wide", ":4"}},
		{[]string{"state", "explain", "some.tf"}, []string{":0"}}, // a file
		{[]string{"state", "explain", "tm/worker-0", ""}, []string{":4"}},
		{[]string{"state", "diff", "some.tf", ""}, []string{"tm/worker-0", ":4"}},
		{[]string{"state", "diff", "some.tf", "tm/worker-0", ""}, []string{":4"}},
		{[]string{"state", "ls", ""}, []string{":4"}},
	} {
		e := p.run(t, append([]string{"__complete"}, test.args...)...)
		if diff := cmp.Diff(test.want, strings.Split(strings.TrimSpace(e.out), "\n")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
	e := admin(t).run(t, "__complete", "lock", "show", "-n", c.Object.Namespace)
	e.want(t, 0, c.Object.Namespace+"\n")
	admin(t).run(t, "__complete", "lock", "show", "--context", "a").want(t, 0, "admin\n")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		p.run(t, "completion", shell).want(t, 0, "captf")
	}
	program{}.run(t, "__complete", "lock", "show", "").want(t, 0, ":4") // without a cluster
}

func TestKubectlPlugin(t *testing.T) {
	t.Parallel()
	kubectl := tools.Bin(t, "kubectl")
	c := statetest.New(t, kubetest.Shared(t))
	c.Put(t, statetest.Gzip([]byte(document(7))))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "kubectl-captf")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), kubectl, append([]string{"captf"}, args...)...)
		cmd.Env = []string{asProgram + "=1", "HOME=" + dir, "PATH=" + dir, "KUBECONFIG=" + operator(t, c).kubeconfig}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("state", "show", "tm/worker-0", "-n", c.Object.Namespace); err != nil || !strings.Contains(out, "StateRead") {
		t.Errorf("error %v\n%s", err, out)
	}
	out, err := run("lock", "show")
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 || !strings.Contains(out, "usage: kubectl captf lock show OBJECT") {
		t.Errorf("error %v\n%s", err, out)
	}
}
