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
	"github.com/captf/captf-runner/runner/redact"
)

// backend is where the state lives, as --backend-config describes it.
type backend struct {
	kind     string            // kubernetes, http, ...; empty when only the root can tell
	args     []string          // the settings that init gets as -backend-config
	env      map[string]string // the credentials: only ever in a child's environment
	settings map[string]string // all of them
}

// credentials are the settings that go to the child by an environment variable, never by argv: init
// would also write them in clear to its data directory.
var credentials = map[string]map[string]string{
	"http":       {"password": "TF_HTTP_PASSWORD", "client_private_key_pem": "TF_HTTP_CLIENT_PRIVATE_KEY_PEM"},
	"kubernetes": {"token": "KUBE_TOKEN", "password": "KUBE_PASSWORD", "client_key": "KUBE_CLIENT_KEY_DATA"},
	"s3":         {"access_key": "AWS_ACCESS_KEY_ID", "secret_key": "AWS_SECRET_ACCESS_KEY", "token": "AWS_SESSION_TOKEN"},
	"gcs":        {"credentials": "GOOGLE_BACKEND_CREDENTIALS", "access_token": "GOOGLE_OAUTH_ACCESS_TOKEN", "encryption_key": "GOOGLE_ENCRYPTION_KEY"},
	"azurerm":    {"access_key": "ARM_ACCESS_KEY", "sas_token": "ARM_SAS_TOKEN", "client_secret": "ARM_CLIENT_SECRET", "client_certificate_password": "ARM_CLIENT_CERTIFICATE_PASSWORD"},
	"pg":         {"conn_str": "PG_CONN_STR"},
	"consul":     {"access_token": "CONSUL_HTTP_TOKEN"},
}

// newBackend reads the settings. kind may be empty: it is inferred where the settings tell.
func newBackend(kind string, settings []string, namespace string) (backend, error) {
	b := backend{kind: kind, env: map[string]string{}, settings: map[string]string{}}
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
	}
	b.kind = cmp.Or(kind, inferBackend(b.settings))
	if b.kind == "kubernetes" && b.settings["namespace"] == "" && namespace != "" {
		// Left to itself the backend would use the namespace "default".
		b.settings["namespace"] = namespace
		settings = append(settings[:len(settings):len(settings)], "namespace="+namespace)
	}
	return b, b.divide(settings)
}

// divide sends each setting to argv or, when it is a credential, to the environment.
func (b *backend) divide(settings []string) error {
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		key = strings.TrimSpace(key)
		switch name := credentials[b.kind][key]; {
		case name != "":
			b.env[name] = value
		case redact.SecretName(key) && credentials[b.kind] == nil:
			return usagef("--backend-config: %s looks like a credential, and for backend %q no environment variable is known to hand it on by: it would be visible in argv", key, b.kind)
		default:
			b.args = append(b.args, setting)
		}
	}
	return nil
}

// inferBackend tells the backend's type by settings that no other backend has.
func inferBackend(settings map[string]string) string {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { _, ok := settings[key]; return ok })
	}
	switch {
	case has("secret_suffix", "in_cluster_config"):
		return "kubernetes"
	case has("address", "lock_address"):
		return "http"
	}
	return ""
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

// podNamespaceFile is where a pod finds the namespace of its ServiceAccount.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace is the namespace of this pod, empty outside of one.
func podNamespace(environ []string) string {
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, "KUBE_NAMESPACE="); ok && value != "" {
			return value
		}
	}
	data, err := os.ReadFile(podNamespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (b *backend) String() string {
	if b.kind == "kubernetes" {
		return fmt.Sprintf("kubernetes backend, Secret %s/tfstate-default-%s", b.settings["namespace"], b.suffix())
	}
	return b.kind + " backend"
}
