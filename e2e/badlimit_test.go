package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// TestFewOpenFiles gives a run so few open files that it cannot go on, at one place or another: it says that this is
// the reason, and how to have more.
func TestFewOpenFiles(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"12", "20"} {
		t.Run(limit, func(t *testing.T) {
			f := newFixture(t, tools.Runtimes(t)[0], newLocal)
			cmd := f.command(t.Context(), "apply")
			cmd.Args = append([]string{"sh", "-c", "ulimit -n " + limit + ` && exec "$@"`, "sh"}, cmd.Args...)
			cmd.Path, cmd.Err = exec.LookPath("sh")
			o := f.startCommand(t, cmd).finish(t)
			if last := o.lastLine(); o.code == 0 || !strings.Contains(last, "too many open files: raise the limit of open files") {
				t.Errorf("exit %d, the last line is %q\n%s", o.code, last, o)
			}
		})
	}
}
