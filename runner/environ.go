package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

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
	info, err := os.Stat(getenv(environ, "TMPDIR"))
	return err == nil && info.IsDir()
}

// getenv is the value of a variable, empty when there is none.
func getenv(environ []string, name string) string {
	for _, pair := range environ {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value
		}
	}
	return ""
}

// foreign leaves out the runner's own variables: what is secret in them is known by its flag, and a
// path in CAPTF_PLAN_KEY_FILE is none.
func foreign(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool { return strings.HasPrefix(pair, "CAPTF_") })
}
