package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
)

// marker is part of every hostile value: it must not show up anywhere.
const marker = "h0st1le"

// trap is where everything would land that a hostile environment redirects.
type trap struct {
	dir        string // an empty directory
	kubeconfig string // an account with all of the runner's rights, in another namespace
	namespace  string
	url        string // a server that answers to anything
	requests   chan string
}

func newTrap(t *testing.T) *trap {
	server := kubetest.Shared(t)
	tr := &trap{dir: filepath.Join(t.TempDir(), marker), namespace: server.Namespace(t), requests: make(chan string, 100)}
	tr.kubeconfig = server.Kubeconfig(t, tr.namespace, server.RunnerRules())
	if err := os.Mkdir(tr.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { tr.requests <- r.Method + " " + r.URL.Path }))
	t.Cleanup(web.Close)
	tr.url = web.URL + "/" + marker
	return tr
}

// environ is every name of the runtimes and of the kubernetes backend, with a value that does harm when it is obeyed.
func (tr *trap) environ() []string {
	in := func(name string) string { return filepath.Join(tr.dir, name) }
	return []string{
		"TF_WORKSPACE=" + marker, // cases.md 49
		"TF_CLI_ARGS=-no-color -x-" + marker,
		"TF_CLI_ARGS_init=-backend-config=secret_suffix=" + marker, // cases.md 53
		"TF_CLI_ARGS_plan=-destroy -var=content=" + marker,
		"TF_CLI_ARGS_apply=-destroy -state=" + in("apply.tfstate"),
		"TF_CLI_ARGS_destroy=-target=probe_file." + marker,
		"TF_CLI_ARGS_force-unlock=-x-" + marker, // cases.md 52
		"TF_CLI_ARGS_show=-x-" + marker,
		"TF_CLI_ARGS_version=-x-" + marker,
		"TF_CLI_ARGS_state_push=-x-" + marker,
		"TF_CLI_ARGS_state_list=-x-" + marker,
		"TF_DATA_DIR=" + in("data"), // cases.md 54
		"TF_VAR_content=" + marker,
		"TF_VAR_files=/" + marker,
		"TF_VAR_password=" + marker,
		"TF_LOG=TRACE", "TF_LOG_CORE=TRACE", "TF_LOG_PROVIDER=TRACE", "TF_LOG_CLOUD=TRACE",
		"TF_LOG_PATH=" + in("log"), "TF_TEMP_LOG_PATH=" + in("temp-log"),
		"TF_ACC=1",
		"TF_REATTACH_PROVIDERS=" + `{"example.test/captf/probe":{"Protocol":"grpc","ProtocolVersion":6,"Pid":1,"Test":true,"Addr":{"Network":"unix","String":"/` + marker + `"}}}`,
		"TF_CLI_CONFIG_FILE=" + in("missing.tfrc"), "TERRAFORM_CONFIG=" + in("missing.tfrc"),
		"TF_PLUGIN_CACHE_DIR=" + in("cache"), "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE=1",
		"TF_SKIP_PROVIDER_VERIFY=1", "TF_DISABLE_PLUGIN_TLS=1", "TF_SCHEMA_PANIC_ON_ERROR=1",
		"TF_APPEND_USER_AGENT=" + marker,
		"TF_STATE_PERSIST_INTERVAL=" + marker,
		"TF_ENCRYPTION=" + `key_provider "pbkdf2" "k" { passphrase = "` + strings.Repeat(marker, 3) + `" }
method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
state { method = method.aes_gcm.m }`,
		"TF_FORCE_LOCAL_BACKEND=1", "TF_IGNORE=trace", "TF_WARN_OUTPUT_ERRORS=1", "TF_TEMPLATE_RECURSION_DEPTH=0",
		"TF_CLOUD_ORGANIZATION=" + marker, "TF_CLOUD_HOSTNAME=" + marker, "TF_CLOUD_PROJECT=" + marker, "TF_TOKEN_example_test=" + marker,
		"TF_REGISTRY_DISCOVERY_RETRY=0", "TF_REGISTRY_CLIENT_TIMEOUT=0", "TF_PROVIDER_DOWNLOAD_RETRY=0",
		"TF_HTTP_ADDRESS=" + tr.url, "TF_HTTP_LOCK_ADDRESS=" + tr.url, "TF_HTTP_UNLOCK_ADDRESS=" + tr.url,
		"TF_HTTP_USERNAME=" + marker, "TF_HTTP_PASSWORD=" + marker, "TF_HTTP_UPDATE_METHOD=" + marker,
		"TF_HTTP_LOCK_METHOD=" + marker, "TF_HTTP_UNLOCK_METHOD=" + marker, "TF_HTTP_RETRY_MAX=9", "TF_HTTP_RETRY_WAIT_MIN=9", "TF_HTTP_RETRY_WAIT_MAX=9",
		"TF_HTTP_CLIENT_CA_CERTIFICATE_PEM=" + marker, "TF_HTTP_CLIENT_CERTIFICATE_PEM=" + marker, "TF_HTTP_CLIENT_PRIVATE_KEY_PEM=" + marker,
		"KUBE_CONFIG_PATH=" + tr.kubeconfig, "KUBE_CONFIG_PATHS=" + tr.kubeconfig + ":" + in("missing"), "KUBE_LOAD_CONFIG_FILE=false",
		"KUBE_CTX=" + marker, "KUBE_CTX_AUTH_INFO=" + marker, "KUBE_CTX_CLUSTER=" + marker,
		"KUBE_HOST=" + tr.url, "KUBE_TOKEN=" + marker, "KUBE_USER=" + marker, "KUBE_PASSWORD=" + marker,
		"KUBE_INSECURE=true", "KUBE_IN_CLUSTER_CONFIG=true", "KUBE_PROXY_URL=" + tr.url, "KUBE_TLS_SERVER_NAME=" + marker,
		"KUBE_CLUSTER_CA_CERT_DATA=" + marker, "KUBE_CLIENT_CERT_DATA=" + marker, "KUBE_CLIENT_KEY_DATA=" + marker,
		// These three are kept, and must not matter.
		"KUBE_NAMESPACE=" + tr.namespace, "TF_INPUT=1", "TF_IN_AUTOMATION=0",
	}
}

// dropped are the names that a run has to report.
func (tr *trap) dropped() []string {
	var names []string
	for _, pair := range tr.environ() {
		name, _, _ := strings.Cut(pair, "=")
		if (strings.HasPrefix(name, "TF_") || strings.HasPrefix(name, "KUBE_")) && !slices.Contains([]string{"KUBE_NAMESPACE", "TF_INPUT", "TF_IN_AUTOMATION"}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// untouched fails the test when anything was redirected.
func (tr *trap) untouched(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("a hostile variable made %s", entry.Name())
	}
	for {
		select {
		case request := <-tr.requests:
			t.Errorf("a hostile variable made the request %s", request)
		default:
			return
		}
	}
}

// clusterObjects are all Secrets and Leases of the cluster.
func clusterObjects(t *testing.T) []string {
	t.Helper()
	client := kubetest.Shared(t).Clientset()
	var names []string
	secrets, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets.Items {
		names = append(names, "secret "+s.Namespace+"/"+s.Name)
	}
	leases, err := client.CoordinationV1().Leases("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases.Items {
		names = append(names, "lease "+l.Namespace+"/"+l.Name)
	}
	slices.Sort(names)
	return names
}

// envModule also shows what a provider finds in its environment.
const envModule = rootModule + `
data "probe_env" "seen" {}
output "names" { value = data.probe_env.seen.names }
`

// TestHostileEnvironment runs an apply, a plan and a destroy with a force-unlock, and looks for anything that
// a variable has moved. cases.md 49, 51 to 54.
func TestHostileEnvironment(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fixture) {
		tr := newTrap(t)
		f.write(t, "main.tf", envModule)
		f.env = append(f.env, tr.environ()...)
		overwrite(t, filepath.Join(f.dir, "plan.key"), strings.Repeat("k", 32))
		calls := f.record(t)
		before := clusterObjects(t)

		o := f.must(t, 0, "apply")
		made := calls.calls(t)
		tr.check(t, o, made, "init apply")
		checkSet(t, f, made)
		state := f.backend.state(t)
		if diff := cmp.Diff(both, parseState(t, state).addresses()); diff != "" {
			t.Errorf("resources in the state (-want +got):\n%s", diff)
		}
		wantFile(t, filepath.Join(f.files, "first"), "one")
		tr.checkProvider(t, state)
		wantOnly(t, f, before)

		overwrite(t, filepath.Join(f.files, "first"), "changed by hand")
		o = f.must(t, 0, "plan", "--plan-key-file", "plan.key")
		tr.check(t, o, calls.calls(t), "init plan show")
		if p := o.result.Plan; p == nil || p.Update != 1 || p.Create+p.Delete+p.Replace != 0 {
			t.Errorf("plan = %+v, want one update", p)
		}

		// A restore prints no version, so that is asked for.
		f.chunks(t, zipped(t, state))
		o = f.must(t, 0, "restore", "--restore-chunks", "1", "--config", f.config)
		made = calls.calls(t)
		tr.check(t, o, made, "init state state")
		find(t, made, "version")

		const stale = "0b5f0c3e-1111-2222-3333-444444444444"
		if f.canForceUnlock() {
			f.backend.hold(t, stale, "runner@gone")
		}
		o = f.must(t, 0, "destroy", "--force-unlock", stale, "--lock-timeout", "0")
		tr.check(t, o, calls.calls(t), f.unlockSteps("init", "force-unlock", "destroy"))
		if left := parseState(t, f.backend.state(t)).addresses(); len(left) > 0 {
			t.Errorf("after the destroy the state has %v", left)
		}
		if id := f.backend.holder(t); id != "" {
			t.Errorf("lock %s is still held", id)
		}
		tr.untouched(t)
		wantOnly(t, f, before)
	})
}

// wantOnly compares the cluster with what it was before this fixture's first apply.
func wantOnly(t *testing.T, f *fixture, before []string) {
	t.Helper()
	want := slices.Clone(before)
	if k, ok := f.backend.(*kubernetes); ok {
		want = append(want, "secret "+k.object.Namespace+"/tfstate-default-"+k.suffix, "lease "+k.object.Namespace+"/"+naming.LockLease(k.suffix))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, clusterObjects(t)); diff != "" {
		t.Errorf("Secrets and Leases of the cluster (-want +got):\n%s", diff)
	}
}

// check looks at one run: which steps there were, what each was given, and what was said about it.
func (tr *trap) check(t *testing.T, o outcome, calls []call, want string) {
	t.Helper()
	if got := steps(calls); got != want {
		t.Errorf("commands %q, want %q", got, want)
	}
	if o.result.Env == nil {
		t.Fatal("no env in the result")
	}
	if diff := cmp.Diff(tr.dropped(), o.result.Env.Dropped); diff != "" {
		t.Errorf("dropped names in the result (-want +got):\n%s", diff)
	}
	for _, name := range tr.dropped() {
		if !strings.Contains(o.stderr, name) {
			t.Errorf("the log does not say that %s was dropped", name)
		}
	}
	if strings.Contains(o.String(), marker) {
		t.Errorf("the value of a dropped variable is printed:\n%s", o)
	}
	for _, c := range calls {
		tr.checkCall(t, c)
	}
}

// own are the names with a dropped prefix that the runner sets for a child itself.
var own = []string{"TF_IN_AUTOMATION", "TF_DATA_DIR", "TF_CLI_CONFIG_FILE", "TF_HTTP_PASSWORD"}

// localOwn are those that only --local sets.
var localOwn = []string{"TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS", "TF_HTTP_USERNAME"}

// byTerraformExec are the names that terraform-exec always sets: to nothing, or to its own name.
var byTerraformExec = []string{"TF_LOG", "TF_LOG_CORE", "TF_LOG_PATH", "TF_LOG_PROVIDER", "TF_APPEND_USER_AGENT"}

func (tr *trap) checkCall(t *testing.T, c call) {
	t.Helper()
	allowed := slices.Concat(own, localOwn)
	if c.step() == "force-unlock" {
		allowed = append(allowed, byTerraformExec...)
	}
	for name, value := range c.env {
		if slices.Contains(tr.dropped(), name) && !slices.Contains(allowed, name) {
			t.Errorf("%s finds %s=%q in its environment", c.step(), name, value)
		}
		if strings.HasPrefix(name, "CAPTF_") {
			t.Errorf("%s finds %s in its environment", c.step(), name)
		}
		if strings.Contains(value, marker) && name != "TERRAFORM_CONFIG" {
			t.Errorf("%s finds the hostile value of %s in its environment", c.step(), name)
		}
		if slices.Contains(byTerraformExec, name) && value != "" && !strings.HasPrefix(value, "HashiCorp-terraform-exec/") {
			t.Errorf("%s finds %s=%q in its environment", c.step(), name, value)
		}
	}
	if arg := strings.Join(c.args, " "); strings.Contains(arg, marker) || strings.Contains(arg, "correct-horse-battery") {
		t.Errorf("%s has a secret or hostile value in its arguments: %s", c.step(), arg)
	}
}

// checkSet looks at what the runner sets for every command.
func checkSet(t *testing.T, f *fixture, calls []call) {
	t.Helper()
	work := filepath.Join(f.dir, "work")
	want := map[string]string{
		"HOME": work, "TF_DATA_DIR": filepath.Join(work, ".terraform"), "TF_CLI_CONFIG_FILE": filepath.Join(work, "cli.tfrc"),
		"TMPDIR": filepath.Join(work, "tmp"), "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1",
	}
	for _, c := range calls {
		got := map[string]string{}
		for name := range want {
			if value, ok := c.env[name]; ok {
				got[name] = value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("environment of %s (-want +got):\n%s", c.step(), diff)
		}
	}
}

// checkProvider looks at what the provider found, which the state has as an output.
func (tr *trap) checkProvider(t *testing.T, state []byte) {
	t.Helper()
	var doc struct {
		Outputs struct {
			Names struct{ Value []string }
		}
	}
	if err := json.Unmarshal(state, &doc); err != nil {
		t.Fatal(err)
	}
	names := doc.Outputs.Names.Value
	if !slices.Contains(names, "PATH") {
		t.Errorf("the provider finds only %v in its environment", names)
	}
	for _, name := range names {
		if slices.Contains(tr.dropped(), name) && !slices.Contains(slices.Concat(own, localOwn), name) {
			t.Errorf("the provider finds %s in its environment", name)
		}
	}
}

// TestCommandOfTwoElements gives --bin twice: every command then runs without terraform-exec.
func TestCommandOfTwoElements(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, backends["kubernetes"])
		tr := newTrap(t)
		f.env = append(f.env, tr.environ()...)
		calls := f.record(t)
		script := f.runtime.Path
		f.runtime.Path = "sh" // a name on PATH

		o := f.must(t, 0, "apply", "--bin", script, "--guard-deletes")
		tr.checkTwo(t, o, calls.calls(t), "init plan show apply")
		wantFile(t, filepath.Join(f.files, "second"), "one")
		if command := o.result.Runtime.Command; len(command) != 2 || command[1] != script || o.result.Runtime.Version == "" {
			t.Errorf("runtime = %+v, want both elements and a version", o.result.Runtime)
		}
		f.chunks(t, zipped(t, f.backend.state(t)))
		o = f.must(t, 0, "restore", "--bin", script, "--restore-chunks", "1")
		made := calls.calls(t)
		tr.checkTwo(t, o, made, "init state state")
		find(t, made, "version")

		const stale = "0b5f0c3e-1111-2222-3333-444444444444"
		f.backend.hold(t, stale, "runner@gone")
		o = f.must(t, 0, "destroy", "--bin", script, "--force-unlock", stale, "--lock-timeout", "0")
		tr.checkTwo(t, o, calls.calls(t), "init force-unlock destroy")
		tr.untouched(t)
	})
}

// checkTwo allows no exception for terraform-exec.
func (tr *trap) checkTwo(t *testing.T, o outcome, calls []call, want string) {
	t.Helper()
	tr.check(t, o, calls, want)
	for _, c := range calls {
		for _, name := range byTerraformExec {
			if _, ok := c.env[name]; ok {
				t.Errorf("%s finds %s in its environment", c.step(), name)
			}
		}
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	if string(got) != want {
		t.Errorf("%s holds %q, want %q", path, got, want)
	}
}
