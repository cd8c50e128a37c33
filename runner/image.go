package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/captf/captf-runner/runner/root"
)

// checkLayout finds an image of the wrong layout before anything runs.
func (o Options) checkLayout() error {
	wayOut := o.wayOut("put the module into the image, or name it with --module", "name the module's directory with --module")
	found, err := root.HasConfig(o.Module)
	if err != nil {
		return layoutf("module: %w: %s", err, orMoreFiles(err, wayOut))
	}
	if !found {
		return layoutf("module %s holds no .tf, .tf.json, .tofu or .tofu.json file at its top level: %s", o.Module, wayOut)
	}
	return nil
}

// mirror is the provider mirror, when there is one. At the default place there need not be any, as long as nobody
// names another place.
func (o Options) mirror() (string, error) {
	dir := o.Providers
	info, err := os.Stat(dir)
	named := dir != DefaultProviders
	switch {
	case dir == "" || errors.Is(err, fs.ErrNotExist) && !named:
		return "", nil
	case err != nil && named:
		return "", usagef("--providers: %w: name a filesystem mirror, or leave the flag out", err)
	case err != nil:
		return "", fmt.Errorf("providers: %w", err)
	case !info.IsDir():
		return "", layoutf("providers %s is no directory: make it a filesystem mirror, or name one with --providers", dir)
	}
	if !named {
		return dir, nil
	}
	switch found, err := isDeep(dir, 3); {
	case err != nil:
		return "", fmt.Errorf("--providers: %w: %s", err, orMoreFiles(err, "make the filesystem mirror readable, or name another"))
	case !found:
		return "", usagef("--providers %s is no filesystem mirror, which holds HOST/NAMESPACE/TYPE folders: name one, or leave the flag out", dir)
	}
	return dir, nil
}

// isDeep tells whether anything lies so many levels below dir. What cannot be read counts if nothing else does.
func isDeep(dir string, levels int) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if levels == 1 || err != nil {
		return len(entries) > 0, err
	}
	var unread error
	for _, entry := range entries {
		found, err := isDeep(filepath.Join(dir, entry.Name()), levels-1)
		if found {
			return true, nil
		}
		unread = cmp.Or(unread, err)
	}
	return false, unread
}
