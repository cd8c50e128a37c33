package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestFewOpenFiles gives a run so few open files that it cannot go on, at each place where it opens one: it says that
// this is the reason, and how to have more. With fewer than eight the Go runtime itself does not start.
func TestFewOpenFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tools.Runtimes(t)[0], newLocal)
	for limit := 8; ; limit++ {
		cmd := f.command(t.Context(), "apply")
		cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, limit), "sh"}, cmd.Args...)
		cmd.Path, cmd.Err = exec.LookPath("sh")
		o := f.startCommand(t, cmd).finish(t)
		if o.code == result.ExitDone {
			if limit < 20 {
				t.Errorf("a run with %d open files is done", limit)
			}
			return
		}
		if last := o.lastLine(); !strings.Contains(last, "too many open files: raise the limit of open files") {
			t.Errorf("%d open files: exit %d, the last line is %q\n%s", limit, o.code, last, o)
		}
	}
}
