package runtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asRunner makes this test binary a runner that another test kills: its child writes into the named directory.
const asRunner = "TEST_AS_RUNNER"

func TestChildOfAKilledRunner(t *testing.T) {
	if dir := os.Getenv(asRunner); dir != "" {
		// It never sleeps: two signals in a row must not become one. It is ready when the runner has tied it: then its
		// end of the pipe has O_ASYNC.
		const child = `trap 'echo interrupted >>log; echo one line too many; echo and one >&2' INT
			flags=0; until [ $((flags & 020000)) -ne 0 ]; do { read -r _ _; read -r _ flags; } </proc/$$/fdinfo/3; done
			echo $$ >ready; until [ -s log ]; do :; done; i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo saved >>log`
		p := shell(child)
		p.Dir = dir
		_, err := p.Run(t.Context(), NewStop(time.Minute))
		t.Fatalf("the runner outlived its child: %v", err)
	}
	for range 5 { // what a dying process does is a matter of its threads
		dir := t.TempDir()
		runner := exec.Command(os.Args[0], "-test.run=^TestChildOfAKilledRunner$")
		runner.Env = append(os.Environ(), asRunner+"="+dir)
		if err := runner.Start(); err != nil {
			t.Fatal(err)
		}
		awaitText(t, filepath.Join(dir, "ready"), "\n")
		child := pidIn(t, filepath.Join(dir, "ready"))
		_ = runner.Process.Kill()
		_ = runner.Wait()
		t.Cleanup(func() {
			if t.Failed() { // it would wait for ever
				_ = syscall.Kill(child, syscall.SIGKILL)
			}
		})
		if got, want := awaitText(t, filepath.Join(dir, "log"), "saved"), "interrupted\nsaved\n"; got != want {
			t.Fatalf("the child of a killed runner wrote %q, want %q", got, want)
		}
	}
}

// awaitText waits until a file has the text, and returns all of it.
func awaitText(t *testing.T, path, text string) string {
	t.Helper()
	var data []byte
	for range 6000 {
		data, _ = os.ReadFile(path)
		if strings.Contains(string(data), text) {
			return string(data)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s never had %q, only %q", path, text, data)
	return ""
}
