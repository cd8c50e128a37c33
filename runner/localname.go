package runner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// localDefaults replaces the defaults of the image contract by those of a laptop.
func (o Options) localDefaults() (Options, error) {
	if !o.Local {
		return o, nil
	}
	if slices.Equal(o.Bin, []string{DefaultBin}) && !exists(DefaultBin) {
		o.Bin = findRuntime()
	}
	if o.Config == DefaultConfig {
		o.Config = ""
	}
	if err := checkOwner(localDir); err != nil && !o.DryRun {
		return o, err
	}
	name, err := localName(o.Module)
	if err != nil {
		return o, err
	}
	if o.Workdir == DefaultWorkdir {
		o.Workdir = filepath.Join(localDir, "work", flat(name))
	}
	if o.Result != DefaultResult {
		return o, nil
	}
	o.Result = filepath.Join(localDir, resultsDir, flat(name)+resultExt)
	o.ownResult = true
	if o.DryRun {
		return o, nil
	}
	if err := os.MkdirAll(filepath.Dir(o.Result), 0o700); err != nil {
		wayOut := "make that writable"
		if isDiskFull(err) {
			wayOut = "make room on its disk"
		}
		return o, fmt.Errorf("%w: a local run keeps all it has in %s: %s, or start the run in another folder", err, localDir, wayOut)
	}
	return o, nil
}

// checkOwner refuses that root writes into the folder of another user, whose next run could not read that.
func checkOwner(path string) error {
	if uid, foreign := dir.Foreign(path); foreign {
		return fmt.Errorf("%s belongs to the user with ID %[2]d, whose next run could not read what root writes there: "+
			"run this as that user, with sudo -u '#%[2]d'", path, uid)
	}
	return nil
}

// flat is a state's name as the name of one file: a folder for each of its parts could hold another state's.
func flat(name string) string { return strings.ReplaceAll(name, "/", "%2F") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// findRuntime looks for a runtime as a person would.
func findRuntime() []string {
	for _, name := range []string{"tofu", "terraform"} {
		if _, err := exec.LookPath(name); err == nil {
			return []string{name}
		}
	}
	return []string{"tofu"} // the error names it
}

// localName names the state after the module's directory: by its path below the current directory, so that two
// modules of one name are two states; a module elsewhere by its last name and a hash of its path.
func localName(module string) (string, error) {
	path, err := filepath.Abs(module)
	if err != nil {
		return "", err
	}
	current, err := os.Getwd()
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(current, path)
	if name := filepath.ToSlash(relative); err == nil && relative != "." && filepath.IsLocal(relative) && isPlain(name) {
		return name, nil
	}
	sum := sha256.Sum256([]byte(path))
	if relative == "." {
		path, sum = current, sha256.Sum256([]byte("."))
	}
	return cmp.Or(plainName(filepath.Base(path)), "module") + "-" + hex.EncodeToString(sum[:4]), nil
}

// isPlain tells whether a path can be a state's name, and an argument of a command line that is no flag.
func isPlain(path string) bool {
	return statesrv.CheckName(path) == nil && !strings.HasPrefix(path, "-")
}

// plainName makes a state's name of any file name.
func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		if statesrv.CheckName("x"+string(r)) != nil || r == '/' {
			return '-'
		}
		return r
	}, s)
	return strings.TrimLeft(s[:min(len(s), 64)], ".-")
}
