package statesrv_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// The tests here run this test binary as other processes on one directory.

var killRounds = flag.Int("kill-rounds", rounds(), "how often TestKill kills a process")

// rounds is 500 for whoever has the time.
func rounds() int {
	if os.Getenv("CAPTF_TORTURE") == "1" {
		return 500
	}
	return 12
}

const workerVar = "STATESRV_TEST_WORKER" // the directory that a worker works on

func TestMain(m *testing.M) {
	if path := os.Getenv(workerVar); path != "" {
		os.Exit(work(path))
	}
	os.Exit(m.Run())
}

// work takes the lock of one of a few states, writes a serial and unlocks, again
// and again until it is killed or its input ends. It prints a line for each
// answer that it got: what it prints must be true for ever.
func work(path string) int {
	ctx := context.Background()
	store, err := dir.Open(ctx, path, dir.Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	states := statesrv.NewStates(store, statesrv.Rules{})
	var group sync.WaitGroup
	stop := make(chan struct{})
	for i := range 3 {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					turn(ctx, states, path, fmt.Sprintf("s%d", rand.IntN(2)), fmt.Sprintf("%d-%d-%d", os.Getpid(), i, n))
				}
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(stop)
	group.Wait()
	return 0
}

// turn is one apply.
func turn(ctx context.Context, states *statesrv.States, path, name, id string) {
	lock := fmt.Appendf(nil, `{"ID":%q,"Who":"worker"}`, id)
	if _, err := states.Lock(ctx, name, lock, statesrv.Caller{}); err != nil {
		fault(err)
		return
	}
	leave := enter(held(path, name))
	st, err := states.Status(ctx, name)
	fault(err)
	serial := 0
	if st.Current != nil {
		serial = int(st.Current.Serial) + 1
	}
	w, err := states.Write(ctx, name, statesrv.WriteRequest{Body: []byte(doc(serial, "l")), ID: id})
	fault(err)
	if err == nil {
		fmt.Printf("wrote %s %d %d\n", name, w.Version.Number, w.Version.Serial)
	}
	leave()
	_, err = states.Unlock(ctx, name, statesrv.UnlockRequest{ID: id})
	fault(err)
}

// held is a file that exists while a worker has the lock.
func held(path, name string) string { return path + "." + name + ".held" }

// enter makes a file that only one can make, so that two holders of one lock
// notice each other.
func enter(file string) (leave func()) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		fmt.Println("error two holders:", err)
		return func() {}
	}
	f.Close()
	return func() { os.Remove(file) }
}

// fault prints an error that is no refusal: there must be none.
func fault(err error) {
	if err != nil && !errors.As(err, new(*statesrv.Refusal)) {
		fmt.Println("error", err)
	}
}

// worker is a running process.
type worker struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan string
}

func startWorker(t *testing.T, path string) *worker {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVar+"="+path, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &worker{cmd, stdin, make(chan string, 10_000)}
	go func() {
		defer close(w.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			w.lines <- scanner.Text()
		}
	}()
	return w
}

// kill ends the process at once, and returns what it had printed.
func (w *worker) kill(t *testing.T) []string {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	var lines []string
	for line := range w.lines {
		lines = append(lines, line)
	}
	_ = w.cmd.Wait() // killed
	return lines
}

// stop lets the process finish, and returns what it printed.
func (w *worker) stop(t *testing.T) []string {
	t.Helper()
	w.stdin.Close()
	var lines []string
	for line := range w.lines {
		lines = append(lines, line)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Error(err)
	}
	return lines
}

// acknowledged adds the writes that were answered, by state and version, and
// reports any that was answered twice, or with an error.
func acknowledged(t *testing.T, known map[string]string, lines []string) {
	t.Helper()
	for _, line := range lines {
		f := strings.Fields(line)
		switch f[0] {
		case "error":
			t.Error(line)
		case "wrote":
			version := f[1] + " " + f[2]
			if before, ok := known[version]; ok {
				t.Errorf("version %s was given to serial %s and to serial %s", version, before, f[3])
			}
			known[version] = f[3]
		}
	}
}

// TestKill kills a process under load at a random moment, again and again. Every
// write that was answered must be there, nothing torn, and the next start puts
// the leftovers right.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data")
	known, repaired := map[string]string{}, 0
	for range *killRounds {
		w := startWorker(t, path)
		first := <-w.lines
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond)
		fresh := map[string]string{}
		acknowledged(t, fresh, append(w.kill(t), first))
		if verify(t, path, fresh, false) > 0 {
			repaired++
		}
		for version, serial := range fresh {
			if before, ok := known[version]; ok {
				t.Errorf("version %s was given to serial %s and, after a crash, to serial %s", version, before, serial)
			}
			known[version] = serial
		}
	}
	verify(t, path, known, true)
	if len(known) < *killRounds/2 {
		t.Errorf("only %d writes in %d rounds: the load is too low to tell", len(known), *killRounds)
	}
	t.Logf("%d rounds, %d writes answered and found, %d starts with something to put right", *killRounds, len(known), repaired)
}

// verify starts as a server does and looks at the writes that were answered, and
// with whole at all of the history. It returns how much the start had to put right.
func verify(t *testing.T, path string, known map[string]string, whole bool) (repairs int) {
	t.Helper()
	store, err := dir.Open(t.Context(), path, dir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	states := statesrv.NewStates(store, statesrv.Rules{})
	findings, err := states.Repair(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Damage || f.State == "" {
			t.Errorf("repair: %s: %s", f.State, f.Text)
		}
	}
	for _, name := range []string{"s0", "s1"} {
		verifyAnswered(t, states, name, known)
		if whole {
			verifyHistory(t, states, name)
		}
		// The holder was killed: break its lock for the next round.
		os.Remove(held(path, name))
		if _, err := states.ForceUnlock(t.Context(), name, statesrv.ForceUnlockRequest{Any: true}); err != nil {
			t.Error(err)
		}
	}
	return len(findings)
}

func verifyAnswered(t *testing.T, states *statesrv.States, name string, known map[string]string) {
	t.Helper()
	for version, serial := range known {
		state, number, _ := strings.Cut(version, " ")
		if state != name {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(states.ReadVersion(t.Context(), name, n))
		if err != nil || !strings.Contains(got, `"serial":`+serial+`,`) {
			t.Errorf("version %s was answered with serial %s, but is %q, %v", version, serial, got, err)
		}
	}
}

func verifyHistory(t *testing.T, states *statesrv.States, name string) {
	t.Helper()
	st, err := states.Status(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	wantHistory(t, states, name, st.Versions)
	wantEvents(t, states, name, st.Versions)
}

// TestTwoProcesses lets two processes work on one directory: a lock is never
// given twice, nor is a serial, and history has no gap.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data")
	a, b := startWorker(t, path), startWorker(t, path)
	time.Sleep(time.Second)
	for end := time.Now().Add(time.Minute); min(len(a.lines), len(b.lines)) < 5 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	known := map[string]string{}
	lines := [][]string{a.stop(t), b.stop(t)}
	for _, l := range lines {
		acknowledged(t, known, l)
	}
	if len(lines[0]) == 0 || len(lines[1]) == 0 || len(known) < 4 {
		t.Errorf("%d and %d answers, %d writes: too few to tell", len(lines[0]), len(lines[1]), len(known))
	}
	t.Logf("%d writes answered", len(known))
	verify(t, path, known, true)
}
