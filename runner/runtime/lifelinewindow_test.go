package runtime

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asStarter makes this test binary a runner that is killed while it starts its child.
const asStarter = "TEST_AS_STARTER"

// TestRunnerKilledAsItsChildStarts kills runners within the first milliseconds of a child. The child cannot be tied to
// the lifeline before it exists, and one that is not tied yet is told nothing: it must come to its ordinary end then.
// None is told twice, and none is left without an end.
func TestRunnerKilledAsItsChildStarts(t *testing.T) {
	if dir := os.Getenv(asStarter); dir != "" {
		// It gives a signal half a second to come, and says nothing of itself to a runner that is gone.
		p := shell(`trap 'echo interrupted >>log' INT; echo started >>log; for i in 1 2 3 4 5; do sleep 0.1; done; echo saved >>log`)
		p.Dir = dir
		_, _ = os.Stdout.WriteString("starting\n")
		_, _ = p.Run(t.Context(), NewStop(time.Minute))
		return
	}
	outcomes := map[string]int{}
	const kills = 30
	dirs := make([]string, kills)
	for i := range dirs {
		dirs[i] = t.TempDir()
		killStarter(t, dirs[i], time.Duration(i)*150*time.Microsecond)
	}
	time.Sleep(500 * time.Millisecond) // a busy machine may start a child late; it only counts as never started then
	for _, dir := range dirs {
		outcomes[outcomeOf(t, dir)]++
	}
	// A busy machine needs longer until a child is tied.
	for after := 10 * time.Millisecond; outcomes[toldOnce] == 0 && after < 10*time.Second; after *= 2 {
		dir := t.TempDir()
		killStarter(t, dir, after)
		outcomes[outcomeOf(t, dir)]++
	}
	t.Logf("children: %v", outcomes)
	if outcomes[toldOnce] == 0 {
		t.Error("no child was told, so the test shows nothing")
	}
}

const toldOnce = "told once"

// outcomeOf is what became of the child that writes into dir, once it has come to its end.
func outcomeOf(t *testing.T, dir string) string {
	t.Helper()
	if !exists(filepath.Join(dir, "log")) {
		return "never started"
	}
	switch log := awaitText(t, filepath.Join(dir, "log"), "saved"); strings.Count(log, "interrupted") {
	case 0:
		return "told nothing"
	case 1:
		return toldOnce
	default:
		t.Errorf("a child was told more than once: %q", log)
		return "told more than once"
	}
}

// killStarter starts a runner and kills it some time after it has begun to start its child.
func killStarter(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	runner := exec.Command(os.Args[0], "-test.run=^TestRunnerKilledAsItsChildStarts$")
	runner.Env = append(os.Environ(), asStarter+"="+dir)
	out, err := runner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(io.LimitReader(out, 9)).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < after; { // a sleep is not that exact
	}
	_ = runner.Process.Kill()
	_ = runner.Wait()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
