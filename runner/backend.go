package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/runner/kube"
)

// backend is where the state lives, as --backend-config and the root describe it.
type backend struct {
	kind     string            // kubernetes, http, ...; empty until the root was read
	args     []string          // the settings that init gets as -backend-config
	env      map[string]string // the credentials: only ever in a child's environment
	settings map[string]string // all of them
	order    []string          // their keys as they were given
	settled  bool              // it became what it is
}

// readBackend reads the settings. What they mean is known when the backend's type is, see become.
func readBackend(settings []string) (backend, error) {
	b := backend{env: map[string]string{}, settings: map[string]string{}}
	for _, setting := range settings {
		key, value, ok := strings.Cut(setting, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			// The text may be a password: not in the error.
			return b, usagef("--backend-config: one of %d settings is not of the form key=value", len(settings))
		}
		if _, twice := b.settings[key]; twice {
			return b, usagef("--backend-config: %s is given twice", key)
		}
		b.settings[key] = value
		b.order = append(b.order, key)
	}
	return b, nil
}

// become settles the type: each setting goes to argv or, when it is a credential, to the environment.
func (b *backend) become(kind, namespace string) error {
	b.kind, b.settled = kind, true
	if kind == "kubernetes" && b.settings["namespace"] == "" && namespace != "" {
		// Left to itself the backend would use the namespace "default".
		if _, empty := b.settings["namespace"]; !empty {
			b.order = append(b.order, "namespace")
		}
		b.settings["namespace"] = namespace
	}
	for _, key := range b.order {
		value := b.settings[key]
		if name := credentials[kind][key]; name != "" {
			b.env[name] = value
			continue
		}
		if err := checkPublic(kind, key, value); err != nil {
			return err
		}
		b.args = append(b.args, key+"="+value)
	}
	return nil
}

// owners are the backends that know a setting, for settings that tell the backend's type.
var owners = []struct {
	key   string
	kinds []string
}{
	{"secret_suffix", []string{"kubernetes"}},
	{"in_cluster_config", []string{"kubernetes"}},
	{"lock_address", []string{"http"}},
	{"address", []string{"http", "consul"}},
}

// infer tells the backend's type by its settings, for a root that declares none.
func (b *backend) infer() string {
	for _, o := range owners {
		if _, given := b.settings[o.key]; given {
			return o.kinds[0]
		}
	}
	return ""
}

// check refuses settings that are for another type of backend than the one that the root declares.
func (b *backend) check(declared, where string) error {
	for _, o := range owners {
		if _, given := b.settings[o.key]; given && !slices.Contains(o.kinds, declared) {
			if where == "--backend" {
				return usagef("--backend %s: %s is a setting of backend %q: change one of them", declared, o.key, o.kinds[0])
			}
			return wrongBackend(where, declared, o.kinds[0])
		}
	}
	return nil
}

func wrongBackend(where, declared, wanted string) error {
	return usagef("root: %s declares backend %q, but the settings are for %q: the state would go elsewhere; remove the block or change the settings",
		where, declared, wanted)
}

// secrets are the values that must not be printed.
func (b *backend) secrets() []string { return slices.Collect(maps.Values(b.env)) }

// suffix is the secret_suffix of the kubernetes backend.
func (b *backend) suffix() string { return b.settings["secret_suffix"] }

// kubeConfig is the cluster that the kubernetes backend uses, for the runner's own client.
func (b *backend) kubeConfig() (kube.Config, error) {
	s := b.settings
	c := kube.Config{
		Namespace: s["namespace"], ConfigPath: s["config_path"],
		ConfigContext: s["config_context"], ConfigContextAuthInfo: s["config_context_auth_info"], ConfigContextCluster: s["config_context_cluster"],
		Host: s["host"], Token: s["token"], Username: s["username"], Password: s["password"], ProxyURL: s["proxy_url"],
		ClientCertificate: s["client_certificate"], ClientKey: s["client_key"], ClusterCACertificate: s["cluster_ca_certificate"],
	}
	for key, field := range map[string]*bool{"in_cluster_config": &c.InClusterConfig, "insecure": &c.Insecure} {
		if s[key] == "" {
			continue
		}
		value, err := strconv.ParseBool(s[key])
		if err != nil {
			return c, usagef("--backend-config: %s=%s is neither true nor false", key, s[key])
		}
		*field = value
	}
	if paths := s["config_paths"]; paths != "" {
		if err := json.Unmarshal([]byte(paths), &c.ConfigPaths); err != nil {
			return c, usagef("--backend-config: config_paths is no list of strings: %w", err)
		}
	}
	return c, nil
}

// expandHome writes out the home in the paths of a kubeconfig: the children have another one.
func (b *backend) expandHome(environ []string) {
	home := getenv(environ, "HOME")
	if home == "" {
		return
	}
	if rest, ok := strings.CutPrefix(b.settings["config_path"], "~"); ok && (rest == "" || rest[0] == '/') {
		b.settings["config_path"] = home + rest
	}
	var paths []string
	if json.Unmarshal([]byte(b.settings["config_paths"]), &paths) != nil {
		return // kubeConfig has the message
	}
	for i, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			paths[i] = home + "/" + rest
		}
	}
	if all, err := json.Marshal(paths); err == nil {
		b.settings["config_paths"] = string(all)
	}
}

// podNamespaceFile is where a pod finds the namespace of its ServiceAccount.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace is the namespace of this pod, empty outside of one.
func podNamespace(environ []string) string {
	if namespace := getenv(environ, "KUBE_NAMESPACE"); namespace != "" {
		return namespace
	}
	data, err := os.ReadFile(podNamespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (b *backend) String() string {
	if b.kind == "kubernetes" {
		return fmt.Sprintf("kubernetes backend, Secret %s/tfstate-default-%s", cmp.Or(b.settings["namespace"], "default"), b.suffix())
	}
	return b.kind + " backend"
}
