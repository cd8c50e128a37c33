package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
)

// tree writes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMirrorModule(t *testing.T) {
	source := tree(t, map[string]string{
		"live/prod/vpc/main.tf":             "main",
		"live/prod/vpc/.terraform.lock.hcl": "lock",
		"live/prod/vpc/terraform.tfstate":   "old",
		"live/prod/vpc/.terraform/x":        "data",
		"live/prod/vpc/templates/user.tpl":  "template",
		"live/prod/common.tfvars":           "common",
		"live/prod/.captf/state":            "state",
		"modules/network/main.tf":           "network",
	})
	root, err := mirrorModule(filepath.Join(source, "live/prod/vpc"), filepath.Join(t.TempDir(), "root"), 3)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"main.tf": "main", ".terraform.lock.hcl": "lock", "templates/user.tpl": "template",
		"../common.tfvars": "common", "../../../modules/network/main.tf": "network",
	} {
		// By the path as the runtime joins it: the kernel resolves .. behind a link.
		if got, err := os.ReadFile(filepath.Join(root, path)); string(got) != want {
			t.Errorf("%s = %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"terraform.tfstate", ".terraform", "../.captf"} {
		if _, err := os.Lstat(filepath.Join(root, path)); !os.IsNotExist(err) {
			t.Errorf("%s is there (%v), want it left out", path, err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "main.tf"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(source, "live/prod/vpc/main.tf")); string(got) != "main" {
		t.Error("a change in the root reached the user's module")
	}
}

// TestCopyFileBlames has either side of a copy be what is wrong.
func TestCopyFileBlames(t *testing.T) {
	dir := tree(t, map[string]string{"main.tf": ""})
	source, nowhere := filepath.Join(dir, "main.tf"), filepath.Join(dir, "none", "main.tf")
	for _, row := range []struct{ from, to, want string }{
		{nowhere, filepath.Join(dir, "copy.tf"), "--module"},
		{source, nowhere, "--workdir"},
	} {
		err := copyFile(row.from, row.to, 0o600, moduleError)
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "--module") != (row.want == "--module") {
			t.Errorf("from %s to %s: %v, want it to name %s only", row.from, row.to, err, row.want)
		}
	}
}

func TestLocalName(t *testing.T) {
	dir := tree(t, map[string]string{"a/vpc/main.tf": "", "b/vpc/main.tf": "", "odd name/main.tf": "", "ü/main.tf": "", "-x/main.tf": "", "a/.hidden/main.tf": ""})
	t.Chdir(dir)
	names := map[string]string{}
	for _, module := range []string{"a/vpc", "b/vpc", "odd name", "ü", "-x", "a/.hidden", ".", dir + "/a", os.TempDir(), "/"} {
		name, err := localName(module)
		if err != nil {
			t.Fatal(err)
		}
		if err := statesrv.CheckName(name); err != nil {
			t.Errorf("%s: %v", module, err)
		}
		if strings.HasPrefix(name, "-") {
			t.Errorf("%s: the name %s is a flag for every command that gets it", module, name)
		}
		if other, twice := names[name]; twice {
			t.Errorf("%s and %s have the same name %s", module, other, name)
		}
		names[name] = module
	}
	if names["a/vpc"] != "a/vpc" {
		t.Errorf("names = %v, want a module below the current directory to have its path", names)
	}
	if again, _ := localName("./a/../a/vpc/"); again != "a/vpc" {
		t.Errorf("another spelling of the path is another name: %s", again)
	}
}
