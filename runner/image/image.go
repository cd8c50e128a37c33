package image

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/captf/captf-runner/runner/naming"
)

// Image is what a check looks at.
type Image struct {
	OS, Arch string
	User     string
	Labels   map[string]string
	// Files are all entries, by their absolute path.
	Files map[string]File
	// dir has the content of the module's files and of the runtime, by the same path.
	dir string
}

// File is one entry.
type File struct {
	Mode fs.FileMode // with the type
	Link string      // where a symbolic link points to; of a hard link the absolute path of the other name
	Size int64
	UID  int // the user that it belongs to
}

// Open reads an image. ref is a registry's reference, an archive (`docker save`, or an OCI archive) or a folder with
// an OCI layout. The content that a check needs is written to o.Scratch.
func Open(ctx context.Context, ref string, o Options) (*Image, error) {
	opened, err := open(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	i, err := look(opened, filepath.Join(o.Scratch, "root"))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	if is := i.OS + "/" + i.Arch; o.Platform != "" && o.Platform != is {
		return nil, fmt.Errorf("%s is an image for %s, not for %s", ref, is, o.Platform)
	}
	return i, nil
}

// look reads the configuration and the layers. Content goes to dir.
func look(opened v1.Image, dir string) (*Image, error) {
	config, err := opened.ConfigFile()
	if err != nil {
		return nil, err
	}
	i := &Image{
		OS: config.OS, Arch: config.Architecture, User: config.Config.User, Labels: config.Config.Labels,
		Files: map[string]File{}, dir: dir,
	}
	if err := i.read(opened, wanted); err != nil {
		return nil, err
	}
	return i, i.readLinked(opened)
}

// read goes through the files as a container would see them.
func (i *Image) read(opened v1.Image, want func(name string) bool) error {
	flat := mutate.Extract(opened)
	defer flat.Close()
	for r := tar.NewReader(flat); ; {
		header, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean("/" + header.Name)
		for dir := path.Dir(name); dir != "/" && i.Files[dir].Mode == 0; dir = path.Dir(dir) {
			i.Files[dir] = File{Mode: fs.ModeDir | 0o755} // a layer need not name it
		}
		f := File{Mode: header.FileInfo().Mode(), Link: header.Linkname, Size: header.Size, UID: header.Uid}
		if header.Typeflag == tar.TypeLink {
			f.Link = path.Clean("/" + header.Linkname)
		}
		i.Files[name] = f
		if header.Typeflag == tar.TypeReg && want(name) {
			if err := writeFile(filepath.Join(i.dir, name), r, 0o700); err != nil {
				return err
			}
		}
	}
}

// wanted is true for what a check reads, where no link leads to it. Of the providers, names are enough.
func wanted(name string) bool { return name == naming.RuntimePath || below(name, naming.ModulePath) }
