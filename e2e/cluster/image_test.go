//go:build e2e

package cluster

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"

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

// TestImageForBothPlatforms has the archive of `make image` hold the runner for each, and not the same one twice.
func TestImageForBothPlatforms(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "runner.oci.tar")
	script := exec.Command(filepath.Join(tools.Root(t), "scripts", "images.sh"), "runner", archive)
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("tar", "-C", dir, "-xf", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	indexes, err := partial.FindIndexes(index, func(v1.Descriptor) bool { return true })
	if err != nil || len(indexes) != 1 {
		t.Fatalf("%d indexes, error %v", len(indexes), err)
	}
	manifest, err := indexes[0].IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]elf.Machine{}
	for _, d := range manifest.Manifests {
		opened, err := indexes[0].Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		got[d.Platform.String()] = machine(t, opened)
	}
	want := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("for which machine the runner is (-want +got):\n%s", diff)
	}
}

// machine is what the runner in an image was built for.
func machine(t *testing.T, of v1.Image) elf.Machine {
	t.Helper()
	flat := mutate.Extract(of)
	defer flat.Close()
	for r := tar.NewReader(flat); ; {
		header, err := r.Next()
		if err != nil {
			t.Fatalf("no captf-runner: %v", err)
		}
		if header.Name != "captf-runner" {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		file, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return file.Machine
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
