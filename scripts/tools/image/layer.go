package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is what one COPY adds.
type layer struct {
	context  string
	uid, gid int
	files    []file
}

// file is one entry: a folder, a regular file or a symbolic link.
type file struct {
	name   string // in the image, without the leading slash
	source string // empty for a folder that COPY makes by itself
	info   fs.FileInfo
}

// own takes the UID:GID of --chown.
func (l *layer) own(chown string) (err error) {
	if chown == "" {
		return nil
	}
	user, group, ok := strings.Cut(chown, ":")
	if !ok {
		group = user
	}
	if l.uid, err = strconv.Atoi(user); err == nil {
		l.gid, err = strconv.Atoi(group)
	}
	if err != nil {
		return fmt.Errorf("--chown=%s: give numbers: %w", chown, err)
	}
	return nil
}

// add takes a file to DEST, or the content of a folder into it.
func (l *layer) add(source, dest string, several bool) error {
	if strings.ContainsAny(source, "*?[") {
		return fmt.Errorf("%s: a pattern needs docker build", source)
	}
	from := filepath.Join(l.context, filepath.Clean("/"+source))
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !path.IsAbs(dest) {
		return fmt.Errorf("%s: give an absolute destination", dest)
	}
	if !info.IsDir() {
		if several || strings.HasSuffix(dest, "/") {
			dest = path.Join(dest, path.Base(source))
		}
		l.files = append(l.files, file{name: path.Clean(dest)[1:], source: from, info: info})
		return nil
	}
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		l.files = append(l.files, file{name: path.Join(dest, filepath.ToSlash(rel))[1:], source: name, info: info})
		return nil
	})
}

// build writes the entries in the order of their names, with parents that are not named before them, and
// with no time in them.
func (l *layer) build() (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	slices.SortFunc(l.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	done := map[string]bool{"": true, ".": true}
	for _, f := range l.files {
		if err := l.parents(w, path.Dir(f.name), done); err != nil {
			return nil, err
		}
		if done[f.name] {
			continue
		}
		done[f.name] = true
		if err := l.write(w, f); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil
	}, tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
}

// parents writes the folders that COPY makes by itself; they belong to root.
func (l *layer) parents(w *tar.Writer, dir string, done map[string]bool) error {
	if done[dir] {
		return nil
	}
	done[dir] = true
	if err := l.parents(w, path.Dir(dir), done); err != nil {
		return err
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, Format: tar.FormatPAX})
}

func (l *layer) write(w *tar.Writer, f file) error {
	link := ""
	if f.info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if link, err = os.Readlink(f.source); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(f.info, link)
	if err != nil {
		return err
	}
	clean := tar.Header{Typeflag: header.Typeflag, Name: f.name, Linkname: link, Size: header.Size,
		Mode: header.Mode, Uid: l.uid, Gid: l.gid, Format: tar.FormatPAX}
	if f.info.IsDir() {
		clean.Name += "/"
	}
	if err := w.WriteHeader(&clean); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	in, err := os.Open(f.source)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}
