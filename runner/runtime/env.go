package runtime

import (
	"maps"
	"slices"
	"strings"
)

// kept are the names with a dropped prefix that a child may inherit.
var kept = map[string]bool{"TF_IN_AUTOMATION": true, "TF_INPUT": true, "KUBE_NAMESPACE": true}

// Environ is the environment of every child (spec/runner.md, "Preparation", 4).
type Environ struct {
	// Vars holds NAME=value pairs, sorted, each name once.
	Vars []string
	// Dropped names what the container had and the child does not get, sorted.
	Dropped []string
}

// NewEnviron takes a container's environment as os.Environ gives it, leaves out every name
// that starts with TF_ or KUBE_ (except TF_IN_AUTOMATION, TF_INPUT and KUBE_NAMESPACE), and then
// sets what the runner decides. A name that is left out is absent, not empty: an empty
// TF_WORKSPACE or KUBE_CONFIG_PATH means something to the runtimes. Names that start with CAPTF_
// configure the runner itself (and may hold a backend's password): they are left out as well, but
// are no leak that needs to be reported.
func NewEnviron(inherited []string, set map[string]string) Environ {
	vars := map[string]string{}
	dropped := map[string]bool{}
	for _, pair := range inherited {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok || name == "" || strings.HasPrefix(name, "CAPTF_"):
		case leaks(name):
			dropped[name] = true
		default:
			vars[name] = value
		}
	}
	maps.Copy(vars, set)
	env := Environ{Dropped: slices.Sorted(maps.Keys(dropped))}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env.Vars = append(env.Vars, name+"="+vars[name])
	}
	return env
}

// withDefault sets a variable that is not set.
func (e Environ) withDefault(name, value string) Environ {
	if !slices.ContainsFunc(e.Vars, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
		e.Vars = append(e.Vars[:len(e.Vars):len(e.Vars)], name+"="+value)
	}
	return e
}

func leaks(name string) bool {
	return (strings.HasPrefix(name, "TF_") || strings.HasPrefix(name, "KUBE_")) && !kept[name]
}

// forTerraformExec is the environment as terraform-exec takes it: it sets the variables of automation and
// logging itself, and refuses to be given them.
func (e Environ) forTerraformExec() map[string]string {
	vars := map[string]string{}
	for _, pair := range e.Vars {
		name, value, _ := strings.Cut(pair, "=")
		if name != "TF_IN_AUTOMATION" && name != "TF_INPUT" && !strings.HasPrefix(name, "TF_LOG") {
			vars[name] = value
		}
	}
	return vars
}
