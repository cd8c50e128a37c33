package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// rescueSet are the Secrets with the captf.io/rescue label, by name.
func (k *kubernetes) rescueSet(t *testing.T) []corev1.Secret {
	t.Helper()
	list, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "captf.io/rescue=true"})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Secret) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// wantSet checks a rescue set of so many parts against the result, and returns the state in it.
func (k *kubernetes) wantSet(t *testing.T, o outcome, secrets []corev1.Secret, parts int) []byte {
	t.Helper()
	if len(secrets) != parts {
		t.Fatalf("%d Secrets, want %d\n%s", len(secrets), parts, o)
	}
	s := o.result.State
	if want := "Secret " + k.object.Namespace + "/" + secrets[0].Name; s.Where != want {
		t.Errorf("where = %q, want %q", s.Where, want)
	}
	var compressed []byte
	for part, secret := range secrets {
		compressed = append(compressed, secret.Data["tfstate"]...)
		for key, want := range map[string]string{
			"captf.io/state-serial": strconv.FormatUint(*s.Serial, 10), "captf.io/state-lineage": s.Lineage,
			"captf.io/state-parts": strconv.Itoa(parts), "captf.io/state-digest": secrets[0].Annotations["captf.io/state-digest"],
		} {
			if got := secret.Annotations[key]; got != want || got == "" {
				t.Errorf("part %d: annotation %s = %q, want %q", part, key, got, want)
			}
		}
		for key, want := range map[string]string{naming.LabelOwnerName: k.object.Name, naming.LabelOwnerKind: string(k.object.Kind)} {
			if got := secret.Labels[key]; got != want {
				t.Errorf("part %d: label %s = %q, want %q", part, key, got, want)
			}
		}
	}
	state := unzipped(t, compressed)
	if sum := sha256.Sum256(state); hex.EncodeToString(sum[:]) != secrets[0].Annotations["captf.io/state-digest"] {
		t.Error("the digest is not that of the state")
	}
	return state
}

// TestRescueSet takes the right to write the state away while a run works: the state goes into Secrets, and a restore
// takes it from there. A second state of the same serial gets a set of its own.
func TestRescueSet(t *testing.T) {
	t.Parallel()
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		t.Parallel()
		f.must(t, 0, "apply")
		o := k.losesRight(t, f, "two")
		first := k.rescueSet(t)
		state := k.wantSet(t, o, first, 1)
		f.wantRescued(t, o, state)
		if want := naming.RescueSecret(k.suffix, *o.result.State.Serial, 0); first[0].Name != want {
			t.Errorf("the Secret is called %s, want %s", first[0].Name, want)
		}

		k.kubeconfig = k.server.Kubeconfig(t, k.object.Namespace, k.server.RunnerRules())
		again := k.losesRight(t, f, "three")
		all := k.rescueSet(t)
		second := slices.DeleteFunc(slices.Clone(all), func(s corev1.Secret) bool { return s.Name == first[0].Name })
		if got := unzipped(t, first[0].Data["tfstate"]); !bytes.Equal(got, state) {
			t.Error("the first rescue set was changed")
		}
		k.wantSet(t, again, second, 1)
		if *again.result.State.Serial != *o.result.State.Serial {
			t.Errorf("the second state has serial %d, this test wants the same as that of the first", *again.result.State.Serial)
		}

		f.chunks(t, second[0].Data["tfstate"])
		o = f.must(t, result.ExitFailed, "restore", "--restore-chunks", "1", "--workdir", f.dir+"/forbidden", "--lock-timeout", "0")
		if e := o.result.Error; e.Reason != result.ReasonRBAC || o.result.State != nil || len(k.rescueSet(t)) != 2 {
			t.Errorf("error = %+v, state = %+v, want rbac: the state is where it came from\n%s", e, o.result.State, o)
		}

		k.kubeconfig = k.server.Kubeconfig(t, k.object.Namespace, k.server.RunnerRules())
		k.copyNamed(t, first[0].Name)
		f.restore(t, k, second[0].Name, "--workdir", f.dir+"/fresh")
		f.wantNothingToDo(t, "--workdir", f.dir+"/fresh")
	})
}

// TestRescueSetBesideNewer has somebody else save a newer state while the run could not: the API server itself would take
// any state, and still it is not pushed over.
func TestRescueSetBesideNewer(t *testing.T) {
	t.Parallel()
	f, k, h := faultyCluster(t, tools.Runtimes(t)[0])
	f.must(t, 0, "apply")
	f.variables(t, map[string]string{"content": `"two"`})
	var newer []byte
	h.harms(func(r *http.Request) fate {
		if !k.writesSecret(r) || newer != nil {
			return passes
		}
		newer = newerThan(t, f.backend.state(t))
		secret := k.secret(t)
		secret.Data["tfstate"] = zipped(t, newer)
		if _, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
		return fails
	})
	o := f.must(t, result.ExitPerson, "apply", "--lock-timeout", "0")
	wantSaved(t, o, result.SavedRescued)
	if !bytes.Equal(f.backend.state(t), newer) {
		t.Error("the newer state was overwritten")
	}
	f.wantRescued(t, o, k.wantSet(t, o, k.rescueSet(t), 1))
	wantFree(t, f, o)
}

// losesRight runs an apply of this content, in a working directory of its own, whose account may not update Secrets any
// more when it wants to save the state.
func (k *kubernetes) losesRight(t *testing.T, f *fixture, content string) outcome {
	t.Helper()
	f.slow(t, "4s", true)
	f.variables(t, map[string]string{"content": strconv.Quote(content)})
	l := f.start(t, "apply", "--workdir", filepath.Join(f.dir, "work-"+content), "--lock-timeout", "0")
	l.says(t, "probe_file.first: Modifying...")
	k.forbid(t, "secrets", "update")
	o := l.finish(t)
	if o.code != result.ExitPerson {
		t.Errorf("exit %d, want %d", o.code, result.ExitPerson)
	}
	wantSaved(t, o, result.SavedRescued)
	wantFree(t, f, o)
	wantInFlight(t, o)
	if s := o.result.Steps[len(o.result.Steps)-1]; s.Name != "state-push" || s.Exit == 0 {
		t.Errorf("last step = %+v, want a push that failed", s)
	}
	return o
}

// TestRescueSetOfParts has a state that is too large for one Secret: Terraform cannot save it, the runner can.
func TestRescueSetOfParts(t *testing.T) {
	t.Parallel()
	runtime := tools.Runtimes(t)[1]
	f, k := clusterFixture(t, runtime)
	f.variables(t, map[string]string{"content": strconv.Quote(incompressible(1 << 20))}) // it is in the state three times
	o := f.must(t, result.ExitPerson, "apply", "--lock-timeout", "0")
	wantSaved(t, o, result.SavedRescued)
	secrets := k.rescueSet(t)
	f.wantRescued(t, o, k.wantSet(t, o, secrets, len(secrets)))
	if len(secrets) < 2 {
		t.Fatalf("%d Secrets, want several", len(secrets))
	}
	var parts [][]byte
	for _, secret := range secrets {
		parts = append(parts, secret.Data["tfstate"])
	}
	if set := k.copyNamed(t, secrets[0].Name); set.Parts != len(parts) || set.Digest != secrets[0].Annotations["captf.io/state-digest"] {
		t.Errorf("the library lists %+v", set)
	}
	into := newFixture(t, runtime, backends["http"]) // Terraform could not store it in the cluster
	into.chunks(t, parts...)
	into.must(t, 0, "restore", "--restore-chunks", strconv.Itoa(len(parts)), "--restore-resources", "2")
	into.wantState(t, both...)
}

// incompressible is a text of so many bytes that gzip makes hardly smaller than half.
func incompressible(size int) string {
	random := make([]byte, size/2)
	_, _ = rand.Read(random)
	return hex.EncodeToString(random)
}

func unzipped(t *testing.T, compressed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
