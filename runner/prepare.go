package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/captf/captf-runner/runner/root"
)

// varFile is the variables file of a rendered root.
const varFile = "terraform.tfvars.json"

func workdirError(err error) error {
	wayOut := "make it and all in it writable, or name another directory with --workdir"
	if isDiskFull(err) {
		wayOut = "make room on its disk, or name a directory on another one with --workdir"
	}
	if path, ok := err.(*fs.PathError); ok && path.Op == "openfdat" { // os.RemoveAll tells of the system call
		err = &fs.PathError{Op: "open", Path: path.Path, Err: path.Err}
	}
	return fmt.Errorf("workdir: %w: %s", err, orMoreFiles(err, wayOut))
}

func configError(err error) error {
	return fmt.Errorf("config: %w: %s", err, orMoreFiles(err, "name the directory of the rendered root, readable, with --config"))
}

func resultError(err error) error {
	wayOut := "name a file that can be written with --result, in a pod the container's terminationMessagePath"
	if isDiskFull(err) {
		wayOut = "make room on that disk, or name a file on another with --result"
	}
	return fmt.Errorf("%w: %s", err, orMoreFiles(err, wayOut))
}

func moduleError(err error) error {
	return fmt.Errorf("module: %w: %s", err, orMoreFiles(err, "make the module readable, or name another with --module"))
}

// orMoreFiles is the way out of an error, unless the runner itself may open no more files.
func orMoreFiles(err error, wayOut string) string {
	if errors.Is(err, syscall.EMFILE) {
		return "raise the limit of open files (ulimit -n)"
	}
	return wayOut
}

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

// wayOut is what a person can do about an image that lacks something, or else on a laptop, where there is no image.
func (o Options) wayOut(image, local string) string {
	if o.Local {
		return local
	}
	return image
}

// copyConfig puts every regular top-level file of the rendered configuration into the root. Names
// that start with a dot and directories are how a mounted Secret keeps its versions. A state that a run by hand could not
// save, and left there, is none of this run's: when a step fails, it would be pushed over the true one.
func (w workspace) copyConfig(from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return configError(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || entry.Name() == erroredState {
			continue
		}
		source := filepath.Join(from, entry.Name())
		info, err := os.Stat(source) // follows the links of a mounted Secret
		if err != nil {
			return configError(err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if err := copyFile(source, filepath.Join(w.root, entry.Name()), 0o600, configError); err != nil {
			return err
		}
	}
	return w.checkRoot(from)
}

// checkRoot refuses a root without configuration: with nothing but variables in it, or the declaration of
// a backend, a runtime would destroy everything that the state holds.
func (w workspace) checkRoot(from string) error {
	found, err := root.HasConfig(w.root)
	if err != nil {
		return workdirError(err)
	}
	if !found {
		return fmt.Errorf("config %s holds no .tf, .tf.json, .tofu or .tofu.json file at its top level: name the directory of the rendered root with --config", from)
	}
	return nil
}

// copyFile copies a file into the working directory. An error about the source is made by sourceError.
func copyFile(from, to string, mode os.FileMode, sourceError func(error) error) error {
	in, err := os.Open(from)
	if err != nil {
		return sourceError(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return workdirError(err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return workdirError(err)
	}
	return nil
}

// writeCLIConfig writes the CLI configuration that every step gets. With a mirror nothing is ever fetched.
func (w workspace) writeCLIConfig(mirror string) error {
	text := "disable_checkpoint = true\n"
	if mirror != "" {
		text += "provider_installation {\n  filesystem_mirror {\n    path    = " + strconv.Quote(mirror) +
			"\n    include = [\"*/*/*\"]\n  }\n}\n"
	}
	if err := os.WriteFile(w.cliConfig(), []byte(text), 0o600); err != nil {
		return workdirError(err)
	}
	return nil
}

// environment is what the runner decides in every child's environment.
func (w workspace) environment(inherited []string, backend map[string]string, debugLog string) map[string]string {
	set := map[string]string{
		"HOME":               w.dir,
		"TF_DATA_DIR":        w.dataDir(),
		"TF_CLI_CONFIG_FILE": w.cliConfig(),
		"TF_IN_AUTOMATION":   "1",
		"CHECKPOINT_DISABLE": "1",
	}
	if !hasTMPDIR(inherited) {
		set["TMPDIR"] = w.tmp()
	}
	if debugLog != "" {
		set["TF_LOG"], set["TF_LOG_PATH"] = "DEBUG", debugLog
	}
	for name, value := range backend {
		set[name] = value
	}
	return set
}

// maxTMPDIR is how long the path may be, in bytes, that a provider makes its socket below: a socket's own may have
// 107, and "/plugin" and a random number of ten digits are part of it. With a longer one no provider starts.
const maxTMPDIR = 90

// tmp is the children's directory for temporary files: in the working directory, unless that lies too deep.
func (w workspace) tmp() string {
	if dir := filepath.Join(w.dir, "tmp"); len(dir) <= maxTMPDIR {
		return dir
	}
	return "/tmp"
}

// hasTMPDIR tells whether the container's TMPDIR is worth keeping.
func hasTMPDIR(environ []string) bool {
	for _, pair := range environ {
		if dir, ok := strings.CutPrefix(pair, "TMPDIR="); ok {
			info, err := os.Stat(dir)
			return err == nil && info.IsDir()
		}
	}
	return false
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

// scanRoot reads the root's declarations. Which of the two runtimes will run is not known yet, so they must
// agree on where the state is.
func scanRoot(dir string) (*root.Module, error) {
	tofu, err := root.Scan(dir)
	if err != nil {
		return nil, fmt.Errorf("config: %w: %s", err, orMoreFiles(err, "try again"))
	}
	terraform, err := root.ScanTerraform(dir)
	if err != nil {
		return nil, fmt.Errorf("config: %w: %s", err, orMoreFiles(err, "try again"))
	}
	if backendType(tofu) != backendType(terraform) {
		return nil, usagef("root: its backend is declared in a .tofu file, which Terraform ignores: declare it in a .tf file")
	}
	return tofu, nil
}

func backendType(m *root.Module) string {
	switch {
	case m.Cloud != nil:
		return "cloud"
	case m.Backend != nil:
		return m.Backend.Type
	}
	return ""
}

// declareBackend makes sure that the root keeps its state where --backend (kind, or empty) or its own block
// say, and says what it had to do (empty: nothing). A root without a backend block would keep its state in the
// pod, and lose it: it gets the block of the kind, which only then the settings may tell.
func declareBackend(module *root.Module, dir, kind string, settings *backend) (declared, note string, err error) {
	if module.Cloud != nil {
		return "", "", usagef("root: %s declares a cloud block, which keeps the state elsewhere: remove it", module.Cloud.File)
	}
	if b := module.Backend; b != nil {
		if kind != "" && b.Type != kind {
			return "", "", wrongBackend(b.File, b.Type, kind)
		}
		return b.Type, "", settings.check(b.Type, b.File)
	}
	kind = cmp.Or(kind, settings.infer())
	switch {
	case len(module.Broken) > 0:
		return kind, "", nil // the runtime has the better message for a file that does not parse
	case kind == "":
		return "", "", usagef("root declares no backend and --backend-config names none: the state would be lost with the pod; give --backend and --backend-config, or --local")
	}
	if err := os.WriteFile(filepath.Join(dir, root.OverrideName), root.Override(kind), 0o600); err != nil {
		return "", "", fmt.Errorf("root: %w", err)
	}
	return kind, fmt.Sprintf("the root declares no backend: added %s, which declares backend %q", root.OverrideName, kind), nil
}
