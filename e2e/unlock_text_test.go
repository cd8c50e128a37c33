package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// byText moves the backend's settings from --backend-config into the root: the runner then has no access
// of its own to the cluster, and goes by what the runtime prints.
type byText struct{ *kubernetes }

func (byText) flags() []string { return nil }

func (f *fixture) settingsInRoot(t *testing.T, k *kubernetes) {
	t.Helper()
	f.write(t, "backend.tf", `terraform {
  backend "kubernetes" {
    secret_suffix = "`+k.suffix+`"
    namespace     = "`+k.object.Namespace+`"
    config_path   = "`+k.kubeconfig+`"
  }
}`)
	f.backend = byText{k}
}

// TestForceUnlockByText is force-unlock where the lock cannot be looked at.
func TestForceUnlockByText(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.settingsInRoot(t, k)
		f.must(t, 0, "apply")
		flags := []string{"--force-unlock", staleID, "--lock-timeout", "0"}

		wantUnlock(t, f.must(t, 0, "apply", flags...), result.OutcomeAlreadyUnlocked)

		k.hold(t, staleID, "runner@gone")
		o := f.must(t, 0, "apply", flags...)
		wantUnlock(t, o, result.OutcomeReleased)
		wantFree(t, f, o)

		k.hold(t, otherID, other)
		o = f.must(t, result.ExitRetry, "apply", flags...)
		wantUnlock(t, o, result.OutcomeHeldByOther)
		wantLocked(t, o, f, otherID)
		k.release(t, otherID)

		// The Lease was deleted by hand.
		err := k.server.Clientset().CoordinationV1().Leases(k.object.Namespace).Delete(t.Context(), naming.LockLease(k.suffix), metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantUnlock(t, f.must(t, 0, "apply", flags...), result.OutcomeAlreadyUnlocked)
	})
}

// TestForceUnlockOnLocalBackend is a root whose backend has no lock that could be released by an ID. cases.md 43.
func TestForceUnlockOnLocalBackend(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, nil)
		f.write(t, "backend.tf", `terraform {
  backend "local" { path = "`+f.dir+`/kept.tfstate" }
}`)
		wantUnlock(t, f.must(t, 0, "apply", "--force-unlock", staleID), result.OutcomeUnsupported)
		wantFile(t, f.files+"/second", "one")
	})
}

// TestForceUnlockTexts plays what no backend that is here prints. All but force-unlock is the real runtime.
func TestForceUnlockTexts(t *testing.T) {
	rows := []struct {
		name, text string
		code       int
		want       result.Outcome
	}{
		{"cannot be unlocked", "Local state cannot be unlocked by another process", 0, result.OutcomeUnsupported},
		{"coloured", "\x1b[31mError: \x1b[0m\x1b[1mFailed to unlock state: state is already unlocked\x1b[0m", 0, result.OutcomeAlreadyUnlocked},
		{"anything else", "Failed to unlock state: the bucket is on fire", result.ExitFailed, ""},
	}
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, backends["http"])
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				f.runtime = runtime
				f.stub(t, `[ "$1" = force-unlock ] || exec "$REAL" "$@"
cat >&2 <<'END'
`+row.text+`
END
exit 1
`)
				o := f.must(t, row.code, "refresh", "--force-unlock", staleID)
				if row.want != "" {
					wantUnlock(t, o, row.want)
					wantFree(t, f, o) // the run took the lock like any other
					return
				}
				if e := o.result.Error; e.Step != "force-unlock" || !strings.Contains(e.Tail, "on fire") || o.result.Lock.ForceUnlock != nil {
					t.Errorf("error = %+v, lock = %+v; want the failed force-unlock", e, o.result.Lock)
				}
			})
		}
	})
}
