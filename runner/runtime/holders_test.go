package runtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// holder starts a process that has the file open, and waits until it is seen as what it is.
func holder(t *testing.T, file *os.File, env string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.ExtraFiles, cmd.Env = []*os.File{file}, append(os.Environ(), env)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// untilHolders polls until the processes that hold the file have these names.
func untilHolders(t *testing.T, file string, want ...string) []Holder {
	t.Helper()
	var names []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		holders := HoldersOf(file)
		names = names[:0]
		for _, h := range holders {
			names = append(names, h.Name)
		}
		slices.Sort(names)
		if slices.Equal(names, want) {
			return holders
		}
	}
	t.Fatalf("the file is held by %q, want %q", names, want)
	return nil
}

// TestEndPlugins ends a provider when its runtime is dead, and nothing else that an earlier run left.
func TestEndPlugins(t *testing.T) {
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), linked); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(linked, "in-use"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	script := holder(t, file, "A=TF_PLUGIN_MAGIC_COOKIE=1", "sleep", "1000")
	runtime := holder(t, file, "A=1", "bash", "-c", "TF_PLUGIN_MAGIC_COOKIE=1 cat <(sleep 1000 3>&-) & wait")
	untilHolders(t, file.Name(), "bash", "cat", "sleep")

	if ended := EndPlugins(file.Name()); len(ended) > 0 {
		t.Errorf("%+v was ended beside its runtime", ended)
	}
	_ = runtime.Process.Kill()
	_ = runtime.Wait()
	if ended := EndPlugins(file.Name()); len(ended) != 1 || ended[0].Name != "cat" {
		t.Errorf("ended %+v, want the provider", ended)
	}
	if left := untilHolders(t, file.Name(), "sleep"); left[0].PID != script.Process.Pid {
		t.Errorf("%+v is left, want the script %d", left, script.Process.Pid)
	}
}
