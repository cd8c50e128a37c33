package image

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Options say which image is meant.
type Options struct {
	// Platform is OS/ARCH: it chooses among the images of an index, and a single image has to be for it. Empty chooses
	// this machine's, and takes any single image.
	Platform string
	// Name chooses among several images of an archive or a layout. It may be empty when there is one.
	Name string
	// Scratch is a folder for temporary files, which the caller removes.
	Scratch string
}

// open finds the image: ref is a folder with an OCI layout, an archive as `docker save` or buildah write it, or a
// reference of a registry, for which the credentials of docker login are used.
func open(ctx context.Context, ref string, o Options) (v1.Image, error) {
	platform, err := v1.ParsePlatform(cmp.Or(o.Platform, "linux/"+runtime.GOARCH))
	if err != nil {
		return nil, fmt.Errorf("platform %q: %w", o.Platform, err)
	}
	info, err := os.Stat(ref)
	switch {
	case errors.Is(err, os.ErrNotExist) && !filepath.IsAbs(ref) && !strings.HasPrefix(ref, "."): // no reference begins so
		return pull(ctx, ref, *platform)
	case err != nil:
		return nil, err
	case info.IsDir():
		return openLayout(ref, o.Name, *platform)
	}
	return openArchive(ref, o, *platform)
}

func pull(ctx context.Context, ref string, platform v1.Platform) (v1.Image, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return nil, fmt.Errorf("%s is no file or folder here, and no image reference: %w", ref, err)
	}
	image, err := remote.Image(parsed, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithPlatform(platform))
	if err != nil {
		return nil, fmt.Errorf("%s is no file or folder here, and cannot be read from its registry: %w", ref, err)
	}
	return image, nil
}

func openArchive(path string, o Options, platform v1.Platform) (v1.Image, error) {
	oci, err := isLayoutArchive(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if oci {
		dir := filepath.Join(o.Scratch, "layout")
		if err := unpackArchive(path, dir); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", path, err)
		}
		return openLayout(dir, o.Name, platform)
	}
	var tag *name.Tag
	if o.Name != "" {
		parsed, err := name.NewTag(o.Name)
		if err != nil {
			return nil, err
		}
		tag = &parsed
	}
	image, err := tarball.ImageFromPath(path, tag)
	if err != nil {
		return nil, fmt.Errorf("read %s, as docker save writes it%s: %w", path, savedNames(path), err)
	}
	return image, nil
}

// savedNames tells which images an archive has, if it has several: one of them has to be named.
func savedNames(path string) string {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) })
	if err != nil || len(manifest) < 2 {
		return "" // the caller's error says why
	}
	var names []string
	for _, saved := range manifest {
		names = append(names, saved.RepoTags...)
	}
	return ", with the images " + strings.Join(names, ", ") + ", of which --name chooses one"
}

// eachEntry goes through a tar file.
func eachEntry(path string, do func(*tar.Header, io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(header, r)
		}
		if err != nil {
			return err
		}
	}
}

// isLayoutArchive tells an OCI archive from one of docker save. Newer versions of that write both into one file,
// and either will do.
func isLayoutArchive(path string) (oci bool, err error) {
	docker := false
	err = eachEntry(path, func(h *tar.Header, _ io.Reader) error {
		entry := filepath.Clean(h.Name)
		oci = oci || entry == "oci-layout"
		docker = docker || entry == "manifest.json"
		return nil
	})
	return oci && !docker, err
}

func unpackArchive(path, dir string) error {
	return eachEntry(path, func(h *tar.Header, r io.Reader) error {
		if h.Typeflag != tar.TypeReg {
			return nil
		}
		to := filepath.Join(dir, filepath.Clean("/"+h.Name))
		return writeFile(to, r, 0o600)
	})
}

func writeFile(path string, r io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return errors.Join(err, file.Close())
}

// nameKeys are the annotations that give an image of a layout its name.
var nameKeys = []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"}

func openLayout(dir, name string, platform v1.Platform) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("%s is no OCI layout: %w", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var found []v1.Descriptor
	var names []string
	for _, d := range manifest.Manifests {
		names = append(names, cmp.Or(d.Annotations[nameKeys[0]], d.Annotations[nameKeys[1]], d.Digest.String()))
		if name == "" || d.Annotations[nameKeys[0]] == name || d.Annotations[nameKeys[1]] == name {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 0 && name != "":
		return nil, fmt.Errorf("%s has no image %s, only %s", dir, name, strings.Join(names, ", "))
	case len(found) != 1:
		return nil, fmt.Errorf("%s has %d images, name one of them: %s", dir, len(found), strings.Join(names, ", "))
	}
	if found[0].MediaType.IsIndex() {
		return ofPlatform(index, found[0].Digest, platform)
	}
	return index.Image(found[0].Digest)
}

func ofPlatform(index v1.ImageIndex, digest v1.Hash, platform v1.Platform) (v1.Image, error) {
	inner, err := index.ImageIndex(digest)
	if err != nil {
		return nil, err
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		if d.Platform != nil && d.Platform.Satisfies(platform) {
			return inner.Image(d.Digest)
		}
	}
	return nil, fmt.Errorf("the image is not for %s", platform)
}
