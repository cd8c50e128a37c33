package image

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// maxLinks is how many of them Linux follows in one path.
const maxLinks = 40

// resolve follows all links of a path to what it names. real has none any more; ok is false if there is nothing.
func (i *Image) resolve(name string) (real string, f File, ok bool) {
	real, f, _, ok = i.walk(name)
	return real, f, ok
}

// walk is resolve, with the folders that are gone through.
func (i *Image) walk(name string) (real string, f File, through []string, ok bool) {
	at, rest, links := "/", elements(name), 0
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		f, ok = i.Files[next]
		rest = rest[1:]
		switch {
		case !ok || links > maxLinks:
			return next, File{}, through, false
		case f.Link != "":
			links++
			target := f.Link
			if !path.IsAbs(target) {
				target = path.Join(at, target)
			}
			at, rest = "/", append(elements(target), rest...)
		default:
			at = next
			if len(rest) > 0 {
				through = append(through, at)
			}
		}
	}
	return at, f, through, ok
}

func elements(name string) []string {
	return strings.FieldsFunc(path.Clean("/"+name), func(r rune) bool { return r == '/' })
}

// seen is a file or a folder as a run sees it.
type seen struct {
	File
	real   string // its name without links
	broken bool   // a link that leads nowhere
}

// tree is everything below a folder, and the folder itself, as a run sees it: through all links.
func (i *Image) tree(dir string) map[string]seen {
	all := map[string]seen{}
	i.grow(all, i.children(), dir, nil)
	return all
}

// grow adds what is called name and everything below it. above are the folders that it is in: a link may lead to one.
func (i *Image) grow(all map[string]seen, children map[string][]string, name string, above []string) {
	real, f, ok := i.resolve(name)
	all[name] = seen{File: f, real: real, broken: !ok}
	if !ok || !f.Mode.IsDir() || slices.Contains(above, real) {
		return
	}
	for _, child := range children[real] {
		i.grow(all, children, path.Join(name, child), append(above, real))
	}
}

// children are the names in each folder.
func (i *Image) children() map[string][]string {
	names := map[string][]string{}
	for name := range i.Files {
		dir := path.Dir(name)
		names[dir] = append(names[dir], path.Base(name))
	}
	return names
}

// readLinked reads what links lead to, and gives it the names under which a run sees it.
func (i *Image) readLinked(opened v1.Image) error {
	linked := map[string]string{}  // by the name that a run sees
	elsewhere := map[string]bool{} // whether it has not been read
	for _, place := range []string{naming.ModulePath, naming.RuntimePath} {
		for name, f := range i.tree(place) {
			if !f.broken && f.Mode.IsRegular() && f.real != name {
				linked[name], elsewhere[f.real] = f.real, !wanted(f.real)
			}
		}
	}
	if slices.Contains(slices.Collect(maps.Values(elsewhere)), true) { // the layers are read once more only for this
		if err := i.read(opened, func(name string) bool { return elsewhere[name] }); err != nil {
			return err
		}
	}
	for name, real := range linked {
		if err := i.link(real, name); err != nil {
			return err
		}
	}
	return nil
}

// link gives the content of a file another name.
func (i *Image) link(real, name string) error {
	to := filepath.Join(i.dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Link(filepath.Join(i.dir, real), to)
}
