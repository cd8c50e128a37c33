package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/compression"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/captf/captf-runner/internal/tools"
)

// content is what an image of a test is made of.
type content struct {
	files  map[string]entry
	user   string
	labels map[string]string
	arch   string
}

// entry is a file; a name that ends in a slash is a folder's.
type entry struct {
	mode int64
	text string // of a file
	link string
	uid  int
	hard string // the other name of the same file, which is in the archive before it
}

const module = `terraform {
  required_providers {
    probe = {
      source  = "example.test/captf/probe"
      version = "~> 0.1"
    }
  }
}
resource "probe_file" "a" { path = "/tmp/a" }
resource "terraform_data" "b" {}
`

// complete is an image with nothing wrong. Its runtime only says that it is one: the real ones have 100 MB.
func complete() content {
	return withRuntime(OpenTofu, "#!/bin/sh\necho OpenTofu v1.12.6\n")
}

// real has a real runtime.
func real(t *testing.T, of tools.Runtime) content {
	t.Helper()
	binary, err := os.ReadFile(of.Path)
	if err != nil {
		t.Fatal(err)
	}
	return withRuntime(map[string]string{"tofu": OpenTofu, "terraform": Terraform}[of.Name], string(binary))
}

func withRuntime(kind, binary string) content {
	return content{
		files: map[string]entry{
			"captf/runtime":         {mode: 0o755, text: binary},
			"captf/module/":         {mode: 0o755},
			"captf/module/main.tf":  {mode: 0o644, text: module},
			"captf/work/":           {mode: 0o755, uid: 65532},
			mirrored("0.1.0") + "x": {mode: 0o755, text: "binary"},
		},
		user: "65532:65532", labels: map[string]string{LabelContract: Contract, LabelRuntime: kind}, arch: runtime.GOARCH,
	}
}

// mirrored is the beginning of the name of a provider's binary.
func mirrored(version string) string {
	return "captf/providers/example.test/captf/probe/" + version + "/linux_" + runtime.GOARCH + "/terraform-provider-probe_v" + version
}

// build makes the image.
func (c content) build(t *testing.T) v1.Image {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	order := func(a, b string) int {
		return cmp.Or(cmp.Compare(len(c.files[a].hard), len(c.files[b].hard)), cmp.Compare(a, b))
	}
	for _, name := range slices.SortedFunc(maps.Keys(c.files), order) {
		e := c.files[name]
		header := &tar.Header{Name: name, Mode: e.mode, Size: int64(len(e.text)), Typeflag: tar.TypeReg, Linkname: e.link, Uid: e.uid}
		switch {
		case strings.HasSuffix(name, "/"):
			header.Typeflag = tar.TypeDir
		case e.link != "":
			header.Typeflag = tar.TypeSymlink
		case e.hard != "":
			header.Typeflag, header.Linkname = tar.TypeLink, e.hard
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil },
		tarball.WithCompression(compression.None))
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config.User, file.Config.Labels = "linux", c.arch, c.user, c.labels
	if image, err = mutate.ConfigFile(image, file); err != nil {
		t.Fatal(err)
	}
	return image
}

func options(t *testing.T) Options {
	return Options{Scratch: t.TempDir()}
}

// looked opens an image that was never written anywhere.
func looked(t *testing.T, c content) *Image {
	t.Helper()
	i, err := look(c.build(t), filepath.Join(t.TempDir(), "root"))
	if err != nil {
		t.Fatal(err)
	}
	return i
}
