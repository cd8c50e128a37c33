package tools

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildsOnceAndStatic(t *testing.T) {
	binary := Build(t, "./internal/tools/testdata/hello")
	out, err := exec.Command(binary).Output()
	if err != nil || string(out) != "hello\n" {
		t.Errorf("the built program printed %q, %v", out, err)
	}
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) != 0 {
		t.Errorf("the binary needs %q, %v; want a static one", libraries, err)
	}
	if file.Section(".debug_info") != nil || file.Section(".symtab") != nil {
		t.Error("the binary is not stripped")
	}
	if again := Build(t, "./internal/tools/testdata/hello"); again != binary {
		t.Errorf("a second build went to %s, the first to %s", again, binary)
	}
}

func TestBuildErrorNamesThePackage(t *testing.T) {
	fatal := fatalOf(func(tb testing.TB) { Build(tb, "./internal/tools/testdata/absent") })
	if !strings.Contains(fatal, "testdata/absent") {
		t.Errorf("building what is not there said %q; want the package named", fatal)
	}
}

func TestMissingToolSaysWhatToRun(t *testing.T) {
	fatal := fatalOf(func(tb testing.TB) { Bin(tb, "no-such-tool") })
	if !strings.Contains(fatal, "no-such-tool") || !strings.Contains(fatal, "run make tools") {
		t.Errorf("a missing tool said %q; want its name and the way out", fatal)
	}
}

func TestRootSkipsOtherModules(t *testing.T) {
	outer := t.TempDir()
	inner := filepath.Join(outer, "scripts", "tools", "probe")
	if err := os.MkdirAll(filepath.Join(inner, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, name := range map[string]string{outer: module, inner: module + "/scripts/tools/probe"} {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+name+"\n\ngo 1.26.0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if root, ok := findRoot(filepath.Join(inner, "deep")); !ok || root != outer {
		t.Errorf("the root is %q, %v; want %q", root, ok, outer)
	}
	if root, ok := findRoot(filepath.Dir(outer)); ok {
		t.Errorf("outside any checkout the root is %q; want none", root)
	}
}
