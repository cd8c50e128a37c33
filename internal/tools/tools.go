// Package tools gives tests the real programs that they run: the runtimes, etcd and the API server, the
// test provider, and our own binaries.
//
// Bin finds a program that "make tools" has built into the checkout's .tools folder, and Build builds one
// of ours. What is missing fails the test: it never skips it.
package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/captf/captf-runner"

// Runtime is one program that the runner can drive.
type Runtime struct {
	Name string // "tofu" or "terraform"
	Path string // absolute
}

// Runtimes returns both runtimes, OpenTofu first.
func Runtimes(tb testing.TB) []Runtime {
	tb.Helper()
	return []Runtime{
		{Name: "tofu", Path: Bin(tb, "tofu")},
		{Name: "terraform", Path: Bin(tb, "terraform")},
	}
}

// Bin returns the absolute path of a program in .tools/bin.
func Bin(tb testing.TB, name string) string {
	tb.Helper()
	return built(tb, "bin", name)
}

// Mirror returns the absolute path of the provider mirror, which has example.test/captf/probe in it,
// unpacked: it is what a filesystem_mirror block of a CLI configuration names.
func Mirror(tb testing.TB) string {
	tb.Helper()
	mirror := built(tb, "mirror")
	built(tb, "mirror", "example.test", "captf", "probe")
	return mirror
}

// built returns a path under .tools, if it is there.
func built(tb testing.TB, elem ...string) string {
	tb.Helper()
	path := filepath.Join(append([]string{Root(tb), ".tools"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("a test tool is missing: %v; run make tools", err)
	}
	return path
}

// Root returns the checkout's root: the nearest folder above the test's package with this module's go.mod.
func Root(tb testing.TB) string {
	tb.Helper()
	root, ok := findRoot(cwd)
	if !ok {
		tb.Fatalf("no folder above %s has the go.mod of %s", cwd, module)
	}
	return root
}

// cwd is the folder of the package under test, read before any test may change it.
var cwd, _ = os.Getwd()

func findRoot(dir string) (string, bool) {
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+module+"\n") {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
