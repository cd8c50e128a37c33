//go:build e2e

package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/image"
)

// TestImageIsReproducible builds the runner's image twice, from copies of the same files with other times and in
// another place, and wants the same digest.
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

// TestExampleImagesAreGood checks them as captf image check does.
func TestExampleImagesAreGood(t *testing.T) {
	t.Parallel()
	for _, runtime := range runtimes {
		for _, example := range []string{"bare", "mirror"} {
			name := "localhost/captf-example-" + example + "-" + runtime + ":dev"
			opened, err := image.Open(t.Context(), filepath.Join(tools.Root(t), ".tools", "layout"),
				image.Options{Platform: "linux/" + goruntime.GOARCH, Name: name, Scratch: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range opened.Check(t.Context(), true) {
				if f.Level != image.Good {
					t.Errorf("%s: %s: %s %s", name, f.Level, f.Subject, f.Message)
				}
			}
		}
	}
}
