package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/naming"
)

// The kinds of runtime, as LabelRuntime has them.
const (
	OpenTofu  = "opentofu"
	Terraform = "terraform"
)

// runtimeVersion is what a runtime says of itself; zero when it was not asked.
type runtimeVersion struct{ kind, version string }

// startTimeout is for a program that should print a line and end.
const startTimeout = 30 * time.Second

func (i *Image) checkRuntime(ctx context.Context, run bool) (v runtimeVersion, found []Finding) {
	name, f, ok := i.resolve(naming.RuntimePath)
	switch {
	case !ok:
		return v, []Finding{bad("runtime", "%s is missing: copy tofu or terraform there", naming.RuntimePath)}
	case !f.Mode.IsRegular():
		return v, []Finding{bad("runtime", "%s is no file", name)}
	case f.Mode.Perm()&0o005 != 0o005:
		return v, []Finding{bad("runtime", "%s has mode %o: a Job runs as another user than the one that owns it; chmod 755", name, f.Mode.Perm())}
	case !run:
		return v, []Finding{good("runtime", "%s (not started)", name)}
	case i.OS != runtime.GOOS || i.Arch != runtime.GOARCH:
		return v, []Finding{good("runtime", "%s (not started: it is for %s/%s)", name, i.OS, i.Arch)}
	}
	text, err := i.start(ctx, name)
	if err != nil {
		return v, []Finding{bad("runtime", "%s does not start: %v", name, err)}
	}
	if v, ok = parseVersion(text); !ok {
		return v, []Finding{bad("runtime", "%s is neither OpenTofu nor Terraform: asked for its version, it prints %.80q", name, text)}
	}
	return v, []Finding{good("runtime", "%s %s", v.kind, v.version)}
}

// start asks the runtime for its version, outside of its image, with an environment of its own.
func (i *Image) start(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	home := filepath.Join(i.dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(i.dir, name), "version")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "CHECKPOINT_DISABLE=1"}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

var versionLine = regexp.MustCompile(`(?m)^(OpenTofu|Terraform) v(\S+)$`)

func parseVersion(text string) (runtimeVersion, bool) {
	match := versionLine.FindStringSubmatch(text)
	if match == nil {
		return runtimeVersion{}, false
	}
	return runtimeVersion{kind: strings.ToLower(match[1]), version: match[2]}, true
}
