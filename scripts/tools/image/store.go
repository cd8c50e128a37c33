package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nameKey is the annotation by which containerd finds an image's name in a layout; refKey is OCI's own.
const (
	nameKey = "io.containerd.image.name"
	refKey  = "org.opencontainers.image.ref.name"
)

// store is an OCI layout that holds images by name.
type store struct{ layout layout.Path }

func openStore(dir string) (*store, error) {
	path, err := layout.FromPath(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return nil, err
		}
		path, err = layout.Write(dir, empty.Index)
	}
	if err != nil {
		return nil, fmt.Errorf("open the OCI layout %s: %w", dir, err)
	}
	return &store{layout: path}, nil
}

// get returns the image of a name for a platform.
func (s *store) get(ref string, platform v1.Platform) (v1.Image, error) {
	index, err := s.layout.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		switch {
		case d.Annotations[nameKey] != ref:
		case d.MediaType.IsImage():
			return index.Image(d.Digest)
		case d.MediaType.IsIndex():
			return s.ofIndex(index, d.Digest, ref, platform)
		}
	}
	return nil, fmt.Errorf("no image %s in the layout: build it first", ref)
}

func (s *store) ofIndex(index v1.ImageIndex, digest v1.Hash, ref string, platform v1.Platform) (v1.Image, error) {
	inner, err := index.ImageIndex(digest)
	if err != nil {
		return nil, err
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		if d.Platform != nil && d.Platform.Equals(platform) {
			return inner.Image(d.Digest)
		}
	}
	return nil, fmt.Errorf("image %s is not for %s", ref, platform)
}

// put names an image, in place of the one that had the name.
func (s *store) put(ref string, platforms []v1.Platform, images []v1.Image) error {
	named := layout.WithAnnotations(map[string]string{nameKey: ref, refKey: ref})
	same := match.Annotation(nameKey, ref)
	if len(images) == 1 {
		return s.layout.ReplaceImage(images[0], same, named)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, image := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &platforms[i]},
		})
	}
	return s.layout.ReplaceIndex(index, same, named)
}
