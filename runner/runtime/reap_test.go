package runtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A provisioner may put its processes into a session of their own, where no signal to the group reaches them.
func TestEndDescendants(t *testing.T) {
	if os.Getenv("RUN_AS_RUNNER") == "" {
		// In a process of its own: a test binary must not kill the children of other tests.
		cmd := exec.Command(os.Args[0], "-test.run=^TestEndDescendants$", "-test.v")
		cmd.Env = append(os.Environ(), "RUN_AS_RUNNER=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	p := shell(`setsid sh -c 'echo $$ >"$1"; sleep 60' sh "$1" & while [ ! -s "$1" ]; do sleep 0.01; done`, pidFile)
	exit, err := p.Run(t.Context(), NewStop(time.Minute))
	if err != nil || !exit.GroupGone {
		t.Fatalf("exit = %+v, %v; want a group that is gone", exit, err)
	}
	if len(childrenOf(os.Getpid())) == 0 {
		t.Fatal("the orphan was not adopted, so the test shows nothing")
	}
	EndDescendants()
	if left := childrenOf(os.Getpid()); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}
