package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Build builds a command of this module, such as "./cmd/captf-runner", as it is released: static and
// stripped. It does so once per test process and command, and returns the binary's absolute path.
func Build(tb testing.TB, pkg string) string {
	tb.Helper()
	once, _ := builds.LoadOrStore(pkg, &build{})
	b := once.(*build)
	b.once.Do(func() { b.path, b.err = goBuild(Root(tb), pkg) })
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return b.path
}

// builds holds a *build for each package asked for.
var builds sync.Map

type build struct {
	once sync.Once
	path string
	err  error
}

func goBuild(root, pkg string) (string, error) {
	dir, err := TempDir("build")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, path.Base(pkg))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return binary, dependOnSources(root, pkg)
}

// dependOnSources makes the go command run the test again, instead of reporting its last result, when the
// sources of the binary have changed: it watches which files the test itself looks at, not a child.
func dependOnSources(root, pkg string) error {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", pkg)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the sources of %s: %w", pkg, err)
	}
	for _, dir := range strings.Fields(string(out)) {
		if _, err := os.ReadDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// TempDir makes a folder for things that all tests of a process share. It lies beside the test binary,
// in the work folder of the go command, which removes that folder when the tests have
// ended: after a panic or a timeout too, when no cleanup of ours runs.
func TempDir(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the test binary: %w", err)
	}
	return os.MkdirTemp(filepath.Dir(self), name+"-")
}
