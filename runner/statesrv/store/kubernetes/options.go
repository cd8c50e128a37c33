package kubernetes

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Options say where the Secrets are.
type Options struct {
	Namespace string
	// Prefix keeps several stores in one namespace apart; it may be "".
	Prefix string
	// Cluster is how to reach the API server; its Namespace is not used.
	Cluster kube.Config
}

const contextVar = "STATESRV_KUBE_CONTEXT"

var namespacePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Parse reads an address, kubernetes://NAMESPACE or kubernetes://NAMESPACE/PREFIX,
// and the environment.
func Parse(address string, getenv func(string) string) (Options, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "kubernetes" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return Options{}, errors.New("want kubernetes://NAMESPACE/PREFIX")
	case !namespacePattern.MatchString(u.Host):
		return Options{}, fmt.Errorf("%s: %q cannot be a namespace; want kubernetes://NAMESPACE/PREFIX", address, u.Host)
	}
	o := Options{Namespace: u.Host, Prefix: strings.Trim(u.Path, "/"), Cluster: clusterOf(getenv)}
	if o.Prefix != "" && store.CheckKey(o.Prefix) != nil {
		return Options{}, fmt.Errorf("%s: the prefix may have letters, digits, dots, dashes and underscores between its slashes", address)
	}
	return o, nil
}

// clusterOf follows kubectl, but in a pod the pod's own ServiceAccount comes before
// a file in its home.
func clusterOf(getenv func(string) string) kube.Config {
	cfg := kube.Config{ConfigContext: getenv(contextVar), UserAgent: "statesrv"}
	switch files := getenv("KUBECONFIG"); {
	case files != "":
		cfg.ConfigPaths = filepath.SplitList(files)
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		cfg.InClusterConfig = true
	default:
		cfg.ConfigPath = "~/.kube/config"
	}
	return cfg
}
