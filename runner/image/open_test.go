package image

import (
	"io"
	"log"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestSources reads one image from everything that may hold it.
func TestSources(t *testing.T) {
	built := complete().build(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	ref := strings.TrimPrefix(server.URL, "http://") + "/team/module:1"
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	folder, saved, archive := filepath.Join(dir, "layout"), filepath.Join(dir, "saved.tar"), filepath.Join(dir, "oci.tar")
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(built, layout.WithAnnotations(map[string]string{nameKeys[0]: "localhost/a:dev"})); err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, built); err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(saved, tag, built); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", folder, "-cf", archive, ".").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	for what, source := range map[string]string{"registry": ref, "folder": folder, "docker save": saved, "OCI archive": archive} {
		t.Run(what, func(t *testing.T) {
			i, err := Open(t.Context(), source, options(t))
			if err != nil {
				t.Fatal(err)
			}
			if found := i.Check(t.Context(), true); Failed(found) {
				t.Errorf("findings: %v", found)
			}
		})
	}
}

// TestChoice has several images in one layout, one of them for two platforms.
func TestChoice(t *testing.T) {
	small := content{files: map[string]entry{"captf/module/": {mode: 0o755}}, user: "1"}
	index := v1.ImageIndex(empty.Index)
	for _, arch := range []string{"amd64", "arm64"} {
		small.arch = arch
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: small.build(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	dir := filepath.Join(t.TempDir(), "layout")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{nameKeys[0]: "localhost/both:dev"})); err != nil {
		t.Fatal(err)
	}
	small.arch = "riscv64"
	if err := path.AppendImage(small.build(t), layout.WithAnnotations(map[string]string{nameKeys[0]: "localhost/one:dev"})); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ platform, name, want, fails string }{
		{"linux/arm64", "localhost/both:dev", "arm64", ""},
		{"linux/amd64", "localhost/both:dev", "amd64", ""},
		{"linux/s390x", "localhost/both:dev", "", "not for linux/s390x"},
		{"linux/riscv64", "localhost/one:dev", "riscv64", ""},
		{"", "localhost/one:dev", "riscv64", ""},
		{"", "localhost/both:dev", runtime.GOARCH, ""},
		{"linux/amd64", "localhost/one:dev", "", "for linux/riscv64, not for linux/amd64"},
		{"plan9", "localhost/one:dev", "", "not for plan9"},
		{"linux/amd64", "", "", "localhost/both:dev, localhost/one:dev"},
		{"linux/amd64", "localhost/none:dev", "", "has no image localhost/none:dev, only"},
	} {
		i, err := Open(t.Context(), dir, Options{Platform: tt.platform, Name: tt.name, Scratch: t.TempDir()})
		switch {
		case tt.fails == "" && (err != nil || i.Arch != tt.want):
			t.Errorf("%s of %q: %v, %v; want one for %s", tt.platform, tt.name, i, err, tt.want)
		case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
			t.Errorf("%s of %q: error %v, want %q", tt.platform, tt.name, err, tt.fails)
		}
	}
}

func TestOpenFails(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	missing := strings.TrimPrefix(server.URL, "http://") + "/team/none:1"
	for source, want := range map[string]string{
		missing:         missing + " is no file or folder here, and cannot be read from its registry",
		"Not/A ref":     "no file or folder here, and no image reference",
		"/no/image.tar": "stat /no/image.tar: no such file",
		"../image.tar":  "stat ../image.tar: no such file",
		t.TempDir():     "is no OCI layout",
		"open_test.go":  "read open_test.go",
	} {
		if _, err := Open(t.Context(), source, options(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

// An archive of docker save may hold several images: they are named.
func TestSeveralSaved(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "saved.tar")
	images := map[name.Reference]v1.Image{}
	for _, text := range []string{"localhost/one:dev", "localhost/two:dev"} {
		tag, err := name.NewTag(text)
		if err != nil {
			t.Fatal(err)
		}
		images[tag] = complete().build(t)
	}
	if err := tarball.MultiRefWriteToFile(saved, images); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), saved, options(t))
	for _, want := range []string{"localhost/one:dev", "localhost/two:dev", "--name chooses one"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
