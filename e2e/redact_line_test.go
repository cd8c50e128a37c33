package e2e

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestSecretInLongLine plays a runtime that prints lines that are too long to be kept whole, with a secret across the
// place where they are cut, and one in every line of a text. No part of either is shown.
func TestSecretInLongLine(t *testing.T) {
	const secret = "s3cr3t-of-the-deployment-0123456789-abcdefghijklmnopqrstuvwxyz"
	for name, print := range map[string]string{
		"across the end of what is kept":   `head -c $((1048576 - 30)) /dev/zero | tr '\0' x; printenv DEPLOY_TOKEN`,
		"at the end of what was kept once": `head -c $((1048576 - 16384 - 30)) /dev/zero | tr '\0' x; printenv DEPLOY_TOKEN | tr -d '\n'; head -c 50000 /dev/zero | tr '\0' x; echo`,
		"nothing else, to the cut":         `while :; do printf '%s' "$DEPLOY_TOKEN"; done | head -c 1100000; echo`,
		"again and again":                  `for i in $(seq 20000); do printf '%s ' "$DEPLOY_TOKEN"; done; echo`,
		"in an event":                      `printf '{"@message":"'; head -c 900000 /dev/zero | tr '\0' x; printf '%s"}\n' "$DEPLOY_TOKEN"`,
		"in an event that is cut":          `printf '{"@message":"'; head -c $((1048576 - 40)) /dev/zero | tr '\0' x; printf '%s"}\n' "$DEPLOY_TOKEN"`,
		"without an end":                   `printf 'x %s' "$DEPLOY_TOKEN"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := played(t, "apply) "+print+"; exit 1 ;;")
			f.env = append(f.env, "DEPLOY_TOKEN="+secret)
			o := f.must(t, result.ExitFailed, "apply")
			if i := strings.Index(o.String(), secret[:8]); i >= 0 {
				t.Errorf("a part of the secret is shown: …%.200s…", o.String()[max(0, i-50):])
			}
			if !strings.Contains(o.stdout, "(sensitive)") && !strings.Contains(o.stdout, "cut") {
				t.Errorf("nothing was hidden or cut: this test looks for nothing\n%.2000s", o.stdout)
			}
			if len(o.stdout) > 64<<10 {
				t.Errorf("the log has %d bytes", len(o.stdout))
			}
		})
	}
}

// TestBackendPasswordIsHidden has a child print what only its environment has: the password of its state server.
func TestBackendPasswordIsHidden(t *testing.T) {
	for name, newBackend := range map[string]func(*testing.T, *fixture) backend{"local": newLocal, "http": newHTTP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newBackend)
			f.stub(t, `[ "$1" = apply ] && printf 'it is %s\n' "$TF_HTTP_PASSWORD" >&2
exec "$REAL" "$@"
`)
			if o := f.must(t, 0, "apply"); !strings.Contains(o.stdout, "it is (sensitive)\n") {
				t.Errorf("the password is printed, or nothing is\n%s", o)
			}
		})
	}
}
