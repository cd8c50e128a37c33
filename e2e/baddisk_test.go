package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// disk is a file system of 256 KiB.
type disk struct{ dir string }

func smallDisk(t *testing.T, dir string) disk {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=700"); err != nil {
		t.Fatalf("mount a small file system (the tests run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk{dir: dir}
}

// fill leaves no room for a single byte.
func (d disk) fill(t *testing.T) {
	t.Helper()
	file, err := os.Create(filepath.Join(d.dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFullDisk(t *testing.T) {
	onDisk := func(use func(*testing.T, *fixture, disk)) func(*testing.T, *fixture) {
		return func(t *testing.T, f *fixture) { use(t, f, smallDisk(t, filepath.Join(f.dir, "disk"))) }
	}
	const full = "no space left on device"
	testBad(t,
		onFullDisk("no room for the root", "workdir", "/disk/work/root/main.tf", full).
			with(onDisk(func(t *testing.T, f *fixture, _ disk) {
				f.write(t, "main.tf", "# "+strings.Repeat("x", 512<<10))
			})),
		onFullDisk("no room at all", "workdir", "/disk/work", full, "--workdir").
			with(onDisk(func(t *testing.T, _ *fixture, d disk) { d.fill(t) })),
	)
}

func onFullDisk(name string, says ...string) bad {
	b := badConfig(name, more("--workdir", "DIR/disk/work"), says...)
	b.reason = result.ReasonDisk
	return b
}

// The disk fills up while the runtime works: init cannot keep what it found, or the plan cannot be read, and the result
// tells.
func TestFullDiskInStep(t *testing.T) {
	for step, command := range map[string]string{"init": "init", "show-json": "show"} {
		t.Run(step, func(t *testing.T) {
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, newHTTP)
				smallDisk(t, filepath.Join(f.dir, "disk"))
				f.stub(t, `[ "$1" != `+command+` ] || dd if=/dev/zero of=../filler bs=4k 2>/dev/null
exec "$REAL" "$@"`)
				o := f.must(t, result.ExitFailed, "apply", "--guard-deletes", "--lock-timeout", "0", "--workdir", filepath.Join(f.dir, "disk"))
				if e := o.result.Error; e == nil || e.Step != step || e.Reason != result.ReasonDisk || !strings.Contains(e.Tail, "no space left on device") {
					t.Errorf("error = %+v, want %s to have no space left\n%s", e, step, o)
				}
				if state := f.backend.state(t); state != nil {
					t.Errorf("a state was written: %s", state)
				}
			})
		})
	}
}
