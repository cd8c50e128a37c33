package image

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/root"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	Good    Level = "ok"
	Warning Level = "warning" // it works, and not as well as it could
	Bad     Level = "error"   // a Job with this image fails
)

// Finding is what a check has found.
type Finding struct {
	Subject string `json:"subject"` // layout, runtime, module, providers, user, labels
	Level   Level  `json:"level"`
	Message string `json:"message"`
}

// Check looks at everything. run says that the runtime may be started here, to see that it does; that is skipped
// for another platform's.
func (i *Image) Check(ctx context.Context, run bool) (all []Finding) {
	version, findings := i.checkRuntime(ctx, run)
	all = append(all, findings...)
	module := i.checkModule()
	all = append(all, module...)
	all = append(all, i.checkLinks()...)
	if !Failed(module) {
		all = append(all, i.checkProviders(version.kind)...)
	}
	all = append(all, i.checkReadable()...)
	all = append(all, i.checkShadowed()...)
	all = append(all, i.checkWork()...)
	all = append(all, i.checkUser())
	return append(all, i.checkLabels(version.kind)...)
}

// Failed reports whether a Job with such an image would fail.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Bad })
}

func good(subject, format string, args ...any) Finding {
	return Finding{subject, Good, fmt.Sprintf(format, args...)}
}

func warning(subject, format string, args ...any) Finding {
	return Finding{subject, Warning, fmt.Sprintf(format, args...)}
}

func bad(subject, format string, args ...any) Finding {
	return Finding{subject, Bad, fmt.Sprintf(format, args...)}
}

// checkModule asks for what the runner asks for before it starts anything.
func (i *Image) checkModule() []Finding {
	if _, f, ok := i.resolve(naming.ModulePath); !ok || !f.Mode.IsDir() {
		return []Finding{bad("module", "%s is no folder: copy the module there", naming.ModulePath)}
	}
	dir := filepath.Join(i.dir, naming.ModulePath)
	if found, err := root.HasConfig(dir); err != nil || !found {
		return []Finding{bad("module", "%s holds no .tf, .tf.json, .tofu or .tofu.json file at its top level", naming.ModulePath)}
	}
	module, err := root.Scan(dir)
	if err != nil {
		return []Finding{bad("module", "%s cannot be read: %v", naming.ModulePath, err)}
	}
	if len(module.Broken) > 0 {
		return []Finding{bad("module", "%s has files that cannot be parsed: %v", naming.ModulePath, module.Broken)}
	}
	found := []Finding{good("module", "%s", naming.ModulePath)}
	if module.Backend != nil || module.Cloud != nil {
		found = append(found, warning("module", "it declares a backend of its own: that is the root's to declare, and a local run refuses it"))
	}
	return found
}

// checkLinks: a configuration file that leads nowhere ends every run.
func (i *Image) checkLinks() (all []Finding) {
	tree := i.tree(naming.ModulePath)
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		switch {
		case !tree[name].broken || name == naming.ModulePath:
		case root.IsConfig(path.Base(name)):
			all = append(all, bad("module", "%s is a link to what is not in the image", name))
		default:
			all = append(all, warning("module", "%s is a link to what is not in the image", name))
		}
	}
	return all
}

// checkReadable: a Job runs as a user that the image does not know.
func (i *Image) checkReadable() []Finding {
	closed := map[string]bool{}
	through := func(name string) {
		_, _, dirs, _ := i.walk(name)
		for _, dir := range dirs {
			if i.Files[dir].Mode.Perm()&0o001 == 0 {
				closed[dir] = true
			}
		}
	}
	through(naming.RuntimePath)
	for _, dir := range []string{naming.ModulePath, naming.ProvidersPath} {
		for name, f := range i.tree(dir) {
			if need := needed(name, f.Mode); !f.broken && f.Mode.Perm()&need != need {
				closed[name] = true
			}
			if !f.broken {
				through(name)
			}
		}
	}
	if len(closed) == 0 {
		return nil
	}
	return []Finding{bad("layout", "%d files or folders are not readable (or executable) for every user, such as %s: a Job runs as user 65532; chmod -R a+rX",
		len(closed), slices.Sorted(maps.Keys(closed))[0])}
}

// needed are the rights that a run needs.
func needed(name string, mode fs.FileMode) fs.FileMode {
	program := strings.HasPrefix(path.Base(name), "terraform-provider-") && !strings.HasSuffix(name, ".zip")
	if mode.IsDir() || program {
		return 0o005
	}
	return 0o004
}

func below(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// checkShadowed: what a Job mounts hides what the image has there.
func (i *Image) checkShadowed() (found []Finding) {
	for _, dir := range []string{naming.ConfigPath, naming.WorkPath, naming.BinPath} {
		for name := range i.Files {
			if path.Dir(name) == dir {
				found = append(found, warning("layout", "%s is in the way of what a Job mounts at %s: it will not be seen", name, dir))
				break
			}
		}
	}
	return found
}

// jobUser is who a Job runs as.
const jobUser = 65532

// checkWork: a Job mounts something there, but a volume of a container engine is as what the image has there.
func (i *Image) checkWork() []Finding {
	if _, f, ok := i.resolve(naming.WorkPath); ok && f.Mode.IsDir() && (f.UID == jobUser || f.Mode.Perm()&0o002 != 0) {
		return nil
	}
	return []Finding{warning("layout", "%s is no folder of user %d: a run that is not in a Job cannot write there; COPY --chown=%d:%d an empty folder", naming.WorkPath, jobUser, jobUser, jobUser)}
}

// checkUser: runAsNonRoot is decided by a number, and the Job's own runAsUser counts more than the image's.
func (i *Image) checkUser() Finding {
	user, _, _ := strings.Cut(i.User, ":")
	id, err := strconv.Atoi(user)
	switch {
	case user == "" || user == "root" || err == nil && id == 0:
		return warning("user", "it runs as root unless a Job says otherwise: USER 65532:65532")
	case err != nil:
		return warning("user", "user %q is a name: runAsNonRoot needs a number, such as USER 65532:65532", user)
	}
	return good("user", "%s", i.User)
}

func (i *Image) checkLabels(kind string) (found []Finding) {
	switch contract, ok := i.Labels[LabelContract]; {
	case !ok:
		found = append(found, warning("labels", "%s is missing: LABEL %s=%q", LabelContract, LabelContract, Contract))
	case contract != Contract:
		found = append(found, bad("labels", "%s=%s: only contract %s is known here", LabelContract, contract, Contract))
	default:
		found = append(found, good("labels", "%s=%s", LabelContract, contract))
	}
	switch label := i.Labels[LabelRuntime]; {
	case label == "" || kind == "":
	case label != kind:
		found = append(found, bad("labels", "%s=%s, and the runtime is %s", LabelRuntime, label, kind))
	default:
		found = append(found, good("labels", "%s=%s", LabelRuntime, label))
	}
	return found
}
