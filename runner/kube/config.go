package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config holds the settings of the `kubernetes` backend that say which cluster to reach and as
// whom; each field is the setting of the same name. A `~` at the start of a path is the home of the
// current user. The backend's `exec` block is not supported.
//
// The starting point is the pod's ServiceAccount when InClusterConfig is set, else the kubeconfig
// at ConfigPath (or the merged ConfigPaths), else, inside a pod, the ServiceAccount again. The other
// fields replace single values of it. Environment variables (KUBE_*, KUBECONFIG) are not read.
type Config struct {
	Namespace string

	InClusterConfig bool

	ConfigPath            string
	ConfigPaths           []string
	ConfigContext         string
	ConfigContextAuthInfo string
	ConfigContextCluster  string

	Host                 string
	Token                string
	Username             string
	Password             string
	Insecure             bool
	ClientCertificate    string // PEM
	ClientKey            string // PEM
	ClusterCACertificate string // PEM
	ProxyURL             string

	// UserAgent names the program in the API server's audit log; "" means captf-runner.
	UserAgent string

	// Timeout bounds one request together with its retries; zero means DefaultTimeout.
	Timeout time.Duration
}

// String names the cluster and never a credential, so that a Config can be printed.
func (c Config) String() string {
	switch {
	case c.Host != "":
		return "host " + c.Host
	case c.InClusterConfig:
		return "in-cluster configuration"
	case len(c.paths()) > 0:
		return "kubeconfig " + strings.Join(c.paths(), string(filepath.ListSeparator))
	}
	return "no cluster configured"
}

// GoString keeps %#v as safe as %v.
func (c Config) GoString() string { return "kube.Config{" + c.String() + "}" }

// LogValue keeps credentials out of structured logs.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Config) restConfig() (*rest.Config, error) {
	rc, err := c.base()
	if err != nil {
		return nil, err
	}
	return rc, c.override(rc)
}

func (c Config) base() (*rest.Config, error) {
	if c.InClusterConfig {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("in_cluster_config: %w", err)
		}
		return rc, nil
	}
	rules, err := c.loadingRules()
	if err != nil {
		return nil, err
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.ConfigContext}
	overrides.Context.AuthInfo = c.ConfigContextAuthInfo
	overrides.Context.Cluster = c.ConfigContextCluster

	rc, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	switch {
	case err == nil:
		return rc, nil
	case clientcmd.IsEmptyConfig(err) && len(c.paths()) == 0 && c.Host != "":
		return &rest.Config{}, nil // host and credentials alone say enough
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("%s: set in_cluster_config, config_path or host: %w", c, err)
	}
	return nil, fmt.Errorf("%s: %w", c, err)
}

func (c Config) loadingRules() (*clientcmd.ClientConfigLoadingRules, error) {
	rules := &clientcmd.ClientConfigLoadingRules{}
	for _, path := range c.paths() {
		expanded, err := expandHome(path)
		if err != nil {
			return nil, fmt.Errorf("config_path %s: %w", path, err)
		}
		// A missing file would be skipped in silence, and the requests go to localhost.
		if _, err := os.Stat(expanded); errors.Is(err, fs.ErrNotExist) {
			return nil, &MissingFileError{Path: expanded, Err: err}
		}
		rules.Precedence = append(rules.Precedence, expanded)
	}
	return rules, nil
}

// MissingFileError is about a kubeconfig that is not there.
type MissingFileError struct {
	Path string // with the home directory in place of ~
	Err  error
}

func (e *MissingFileError) Error() string { return "config_path: " + e.Err.Error() }
func (e *MissingFileError) Unwrap() error { return e.Err }

// paths returns the kubeconfig files; config_path wins over config_paths, as in the backend.
func (c Config) paths() []string {
	if c.ConfigPath != "" {
		return []string{c.ConfigPath}
	}
	return c.ConfigPaths
}

func expandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || (rest != "" && rest[0] != filepath.Separator) {
		return path, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, rest), err
}

// override replaces single values. In a pod the ServiceAccount's token file still wins over Token,
// exactly as it does in the backend, so that both act as the same user.
func (c Config) override(rc *rest.Config) error {
	set(&rc.Host, c.Host)
	set(&rc.BearerToken, c.Token)
	set(&rc.Username, c.Username)
	set(&rc.Password, c.Password)
	setPEM(&rc.CertData, c.ClientCertificate)
	setPEM(&rc.KeyData, c.ClientKey)
	setPEM(&rc.CAData, c.ClusterCACertificate)
	if c.Insecure {
		rc.Insecure = true
	}
	if c.ProxyURL == "" {
		return nil
	}
	proxy, err := url.Parse(c.ProxyURL)
	if err != nil || proxy.Host == "" {
		return errors.New("proxy_url: not a URL with a host") // it may hold a password
	}
	rc.Proxy = http.ProxyURL(proxy)
	return nil
}

func set(dst *string, value string) {
	if value != "" {
		*dst = value
	}
}

func setPEM(dst *[]byte, value string) {
	if value != "" {
		*dst = []byte(value)
	}
}
