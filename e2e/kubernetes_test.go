package e2e

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// changed is a backend with other flags.
type changed struct {
	*kubernetes
	args []string
}

func (c changed) flags() []string { return c.args }

// withSetting replaces the --backend-config of one key; empty leaves it out.
func (k *kubernetes) withSetting(key, value string) changed {
	flags := k.flags()
	i := slices.IndexFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, key+"=") })
	if value == "" {
		return changed{k, slices.Delete(flags, i-1, i+1)}
	}
	flags[i] = key + "=" + value
	return changed{k, flags}
}

func (k *kubernetes) setting(key string) string {
	for _, flag := range k.flags() {
		if value, ok := strings.CutPrefix(flag, key+"="); ok {
			return value
		}
	}
	return ""
}

// secret reads the first Secret of the state.
func (k *kubernetes) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	return k.read(t, naming.StateSecret(k.suffix, 0))
}

// read reads a Secret of the object's namespace.
func (k *kubernetes) read(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// relabel changes the labels of the state's Secret by hand.
func (k *kubernetes) relabel(t *testing.T, change func(map[string]string)) {
	t.Helper()
	secret := k.secret(t)
	change(secret.Labels)
	if _, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestChangedLabels has a state that is there by its name, and not by the labels that the backend would look for:
// nothing may be started that could begin with an empty state. cases.md 34.
func TestChangedLabels(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.must(t, 0, "apply")
		k.relabel(t, func(labels map[string]string) { labels["of-somebody-else"] = "x" })
		f.must(t, 0, "refresh") // one more label is no trouble
		calls := f.record(t)

		f.backend = k.withSetting("labels", strings.Replace(k.setting("labels"), "{", `{"team"="b",`, 1))
		wantLabelRefused(t, f.must(t, result.ExitFailed, "apply"), "team")
		f.backend = k
		for key, change := range map[string]func(map[string]string){
			naming.LabelOwnerName: func(labels map[string]string) { labels[naming.LabelOwnerName] = "renamed" },
			naming.LabelMove:      func(labels map[string]string) { delete(labels, naming.LabelMove) }, // its value is empty
			"tfstateWorkspace":    func(labels map[string]string) { labels["tfstateWorkspace"] = "other" },
		} {
			was := k.secret(t).Labels
			k.relabel(t, change)
			before := k.secret(t).ResourceVersion
			wantLabelRefused(t, f.must(t, result.ExitFailed, "destroy"), key)
			if k.secret(t).ResourceVersion != before {
				t.Error("the state was written")
			}
			k.relabel(t, func(labels map[string]string) { clear(labels); maps.Copy(labels, was) })
		}
		if made := steps(calls.calls(t)); made != "" {
			t.Errorf("commands %q, want none", made)
		}
		f.must(t, 0, "apply")
	})
}

// TestChangedLabelsAskedTwice has the server fail once when the run asks for the labels: that is not taken for an answer.
func TestChangedLabelsAskedTwice(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]fate{"fails": fails, "cut": cut} {
		t.Run(name, func(t *testing.T) {
			f, k, h := faultyCluster(t, tools.Runtimes(t)[0])
			f.must(t, 0, "apply")
			k.relabel(t, func(labels map[string]string) { delete(labels, naming.LabelMove) })
			h.harms(nth(1, about("secrets"), first))
			wantLabelRefused(t, f.must(t, result.ExitFailed, "apply"), naming.LabelMove)
		})
	}
}

func wantLabelRefused(t *testing.T, o outcome, label string) {
	t.Helper()
	e := o.result.Error
	if e.Kind != result.KindStep || e.Reason != result.ReasonConfig || e.Step != "init" {
		t.Errorf("error = %+v, want a step error of init, reason config", e)
	}
	if !strings.Contains(e.Tail, "label "+label) || !strings.Contains(e.Tail, "tfstate-default-") {
		t.Errorf("tail %q names neither label %s nor the Secret", e.Tail, label)
	}
}

// TestNamespaceOfThePod leaves the namespace out: the backend alone would use "default". cases.md 36.
func TestNamespaceOfThePod(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		calls := f.record(t)
		f.backend = k.withSetting("namespace", "")
		f.env = append(f.env, "KUBE_NAMESPACE="+k.object.Namespace)
		f.must(t, 0, "apply")
		wantNamespace(t, calls, k)
	})
}

func wantNamespace(t *testing.T, calls *recorder, k *kubernetes) {
	t.Helper()
	want := "-backend-config=namespace=" + k.object.Namespace
	if args := find(t, calls.calls(t), "init").args; !slices.Contains(args, want) {
		t.Errorf("arguments of init %q, want %s among them", args, want)
	}
	if got := parseState(t, k.state(t)).addresses(); len(got) != 2 {
		t.Errorf("the state in namespace %s has %v, want both files", k.object.Namespace, got)
	}
}

// TestInCluster gives the runner what a pod has: files of a ServiceAccount and the address of the API server, and
// no kubeconfig. The files lie where only this process and its children see them. cases.md 36.
func TestInCluster(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		calls := f.record(t)
		settings := k.withSetting("namespace", "")
		i := slices.IndexFunc(settings.args, func(flag string) bool { return strings.HasPrefix(flag, "config_path=") })
		settings.args[i] = "in_cluster_config=true"
		f.backend = settings
		k.hold(t, staleID, "runner@gone")
		o := f.inPod(t, k, "apply", "--force-unlock", staleID, "--lock-timeout", "0")
		if o.code != 0 {
			t.Fatalf("exit %d\n%s", o.code, o)
		}
		wantUnlock(t, o, result.OutcomeReleased) // the runner's own client works, too
		wantNamespace(t, calls, k)
	})
}

// inPod runs an operation in a mount namespace that has the files of a ServiceAccount where a pod has them.
func (f *fixture) inPod(t *testing.T, k *kubernetes, op string, flags ...string) outcome {
	t.Helper()
	api, err := url.Parse(k.server.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(api.Host)
	if err != nil {
		t.Fatal(err)
	}
	run := f.command(t.Context(), op, flags...)
	const mount = `mount -t tmpfs none /run && mkdir -p /var/run/secrets/kubernetes.io && ln -s "$0" /var/run/secrets/kubernetes.io/serviceaccount && exec "$@"`
	account := k.server.ServiceAccountDir(t, k.object.Namespace, k.server.RunnerRules())
	run.Args = append([]string{"sh", "-c", mount, account}, run.Args...)
	run.Path = "/bin/sh"
	run.Env = append(slices.Clone(run.Env), "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port)
	self := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	run.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: self(os.Getuid()), GidMappings: self(os.Getgid()),
	}
	return f.finish(t, t.Context(), run)
}

// TestBackendConfigQuoting has a map with all the white space that HCL allows, and paths with spaces. cases.md 39.
func TestBackendConfigQuoting(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		labels := `{ "team" = "a.b_c-d" , example = "x", "example.test/y"="" }`
		calls := f.record(t)
		f.backend = k.withSetting("labels", labels)
		f.must(t, 0, "apply", "--workdir", filepath.Join(f.dir, `work "dir" of a, b`))
		if args := find(t, calls.calls(t), "init").args; !slices.Contains(args, "-backend-config=labels="+labels) {
			t.Errorf("arguments of init %q, want the map as one of them", args)
		}
		got := map[string]string{}
		for _, key := range []string{"team", "example", "example.test/y"} {
			if value, ok := k.secret(t).Labels[key]; ok {
				got[key] = value
			}
		}
		if diff := cmp.Diff(map[string]string{"team": "a.b_c-d", "example": "x", "example.test/y": ""}, got); diff != "" {
			t.Errorf("labels of the Secret (-want +got):\n%s", diff)
		}
		for wrong, says := range map[string]string{
			`{team="a,b=\"c\""}`: "team", `{team="a b"}`: "team", `{"a key"="b"}`: "a key",
			`team=b`: "no map of strings", `{team=["b"]}`: "no map of strings", `{team=`: "no map of strings", `{team=null}`: "team",
		} {
			f.backend = k.withSetting("labels", wrong)
			o := f.must(t, result.ExitUsage, "apply")
			if e := o.result.Error; e.Reason != result.ReasonUsage || !strings.Contains(e.Tail, says) {
				t.Errorf("labels=%s: error = %+v, want a usage error that says %q", wrong, e, says)
			}
		}
		if made := calls.calls(t); len(made) > 0 {
			t.Errorf("with wrong labels there were the commands %q, want none", steps(made))
		}
	})
}

// TestLargePlan makes a plan that would not fit into a Secret: it never goes there. cases.md 40.
func TestLargePlan(t *testing.T) {
	content := make([]byte, 3<<19)
	_, _ = rand.Read(content)
	size := filepath.Join(t.TempDir(), "size")
	measure := `for plan; do :; done
[ "$1" = show ] && wc -c <"$plan" >'` + size + `'
exec "$REAL" "$@"
`
	everywhere(t, func(t *testing.T, f *fixture) {
		f.variables(t, map[string]string{"content": strconv.Quote(hex.EncodeToString(content)), "second": "false"})
		f.stub(t, measure)
		o := f.must(t, 0, "plan", "--plan-key-file", f.planKey(t))
		if p := o.result.Plan; p.Create != 1 || !strings.HasPrefix(p.Hash, "p2:") {
			t.Errorf("plan = %+v, want one create and a hash", p)
		}
		text, err := os.ReadFile(size)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || n < 3<<19 {
			t.Errorf("the plan has %d bytes, %v: that is no large one", n, err)
		}
		if _, ok := f.backend.(*kubernetes); ok {
			return // the state of such a file is too large for a Secret
		}
		o = f.must(t, 0, "apply", "--guard-deletes", "--plan-key-file", f.planKey(t), "--expect-plan", o.result.Plan.Hash)
		wantChanges(t, o, result.Changes{Add: 1})
		if _, err := os.Stat(filepath.Join(f.dir, "work", "captf.tfplan")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("looking for the plan afterwards gives %v, want that it is gone", err)
		}
	})
}
