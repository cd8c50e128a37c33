package e2e

import (
	"syscall"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// readOnly makes a directory one in which nobody can write, as an image's and a mounted Secret's are.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Fatalf("mount a directory over itself (the tests run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

// TestReadOnlyModule has a module and a rendered root that nobody can write to: a run leaves nothing in them, and needs
// to. It is so in every Job, and on a laptop where the module is somebody else's.
func TestReadOnlyModule(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		for _, name := range []string{"http", "local"} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, runtime, backends[name])
				readOnly(t, f.config)
				wantChanges(t, f.must(t, 0, "apply"), result.Changes{Add: 2})
				f.wantState(t, both...)
				f.must(t, 0, "drift")
				wantChanges(t, f.must(t, 0, "destroy"), result.Changes{Destroy: 2})
			})
		}
	})
}
