//go:build e2e

package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// TestImageIsReproducible builds the runner's image twice, from copies of the same files with other times and in
// another place, and wants the same digest. captf image check finds nothing wrong with the examples.
func TestImageIsReproducible(t *testing.T) {
	t.Parallel()
	root := tools.Root(t)
	var indexes []string
	for range 2 {
		dir := t.TempDir()
		for _, name := range []string{"rootfs", "work", "amd64/captf-runner", "arm64/captf-runner"} {
			from := filepath.Join(root, "dist", name)
			if _, err := os.Stat(from); err != nil {
				continue // only this machine's is built here
			}
			to := filepath.Join(dir, "dist", name)
			if out, err := exec.Command("sh", "-c", `mkdir -p "$(dirname "$2")" && cp -r "$1" "$2"`, "sh", from, to).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		layout := filepath.Join(dir, "layout")
		build := exec.Command(tools.Bin(t, "image"), "-f", filepath.Join(root, "Dockerfile"), "-t", "localhost/captf-runner:dev", "-o", layout, dir)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		index, err := os.ReadFile(filepath.Join(layout, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		indexes = append(indexes, string(index))
	}
	if indexes[0] != indexes[1] {
		t.Errorf("two builds:\n%s\n%s", indexes[0], indexes[1])
	}
}

func TestExampleImagesAreGood(t *testing.T) {
	t.Parallel()
	captf := tools.Build(t, "./cmd/captf")
	for _, runtime := range runtimes {
		for _, example := range []string{"bare", "mirror"} {
			check := exec.Command(captf, "image", "check", filepath.Join(tools.Root(t), ".tools", "layout"), "--name", "localhost/captf-example-"+example+"-"+runtime+":dev")
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s, %s: %v\n%s", example, runtime, err, out)
			}
		}
	}
}
