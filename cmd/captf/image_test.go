package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// TestImageCheck has an image with nothing in it; what is found in others is tested in package image.
func TestImageCheck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.ConfigFile(empty.Image, must(empty.Image.ConfigFile()))
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(image); err != nil {
		t.Fatal(err)
	}
	p := program{}
	e := p.run(t, "image", "check", dir)
	if e.code != exitFailed || !strings.Contains(e.out, "/captf/runtime is missing") || !strings.Contains(e.err, "Jobs with this image fail") {
		t.Errorf("an empty image: exit %d\n%s%s", e.code, e.out, e.err)
	}
	if e := p.run(t, "image", "check", dir, "-o", "json"); e.code != exitFailed || !strings.Contains(e.out, `"level": "error"`) {
		t.Errorf("as JSON: exit %d\n%s%s", e.code, e.out, e.err)
	}
	if e := p.run(t, "image", "check", t.TempDir()); e.code != exitFailed || !strings.Contains(e.err, "is no OCI layout") {
		t.Errorf("a folder: exit %d\n%s", e.code, e.err)
	}
	if e := p.run(t, "image", "check"); e.code != exitUsage {
		t.Errorf("no image: exit %d\n%s", e.code, e.err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
