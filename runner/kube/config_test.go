package kube

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: one, cluster: {server: "https://one.example"}}
- {name: two, cluster: {server: "https://two.example", insecure-skip-tls-verify: true}}
users:
- {name: ann, user: {token: token-of-ann}}
- {name: bob, user: {username: bob, password: bobs}}
contexts:
- {name: one, context: {cluster: one, user: ann}}
- {name: two, context: {cluster: two, user: bob}}
`

func TestConfig(t *testing.T) {
	outsideAPod(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	path := filepath.Join(home, "config")
	write(t, path, kubeconfig)
	second := filepath.Join(home, "second")
	write(t, second, strings.ReplaceAll(strings.ReplaceAll(kubeconfig, "one", "uno"), "two", "due"))

	tests := map[string]struct {
		cfg  Config
		want rest.Config
	}{
		"current context":      {Config{ConfigPath: path}, rest.Config{Host: "https://one.example", BearerToken: "token-of-ann"}},
		"home":                 {Config{ConfigPath: "~/config"}, rest.Config{Host: "https://one.example", BearerToken: "token-of-ann"}},
		"other context":        {Config{ConfigPath: path, ConfigContext: "two"}, rest.Config{Host: "https://two.example", Username: "bob", Password: "bobs", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}},
		"other user":           {Config{ConfigPath: path, ConfigContextAuthInfo: "bob"}, rest.Config{Host: "https://one.example", Username: "bob", Password: "bobs"}},
		"other cluster":        {Config{ConfigPath: path, ConfigContextCluster: "two"}, rest.Config{Host: "https://two.example", BearerToken: "token-of-ann", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}},
		"several files":        {Config{ConfigPaths: []string{path, second}, ConfigContext: "due"}, rest.Config{Host: "https://due.example", Username: "bob", Password: "bobs", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}},
		"path wins over paths": {Config{ConfigPath: path, ConfigPaths: []string{second}}, rest.Config{Host: "https://one.example", BearerToken: "token-of-ann"}},
		"host and token alone": {Config{Host: "https://h.example", Token: "t"}, rest.Config{Host: "https://h.example", BearerToken: "t"}},
		"single values replaced": {
			Config{ConfigPath: path, Host: "https://h.example", Token: "t", Username: "u", Password: "p", Insecure: true, ClientCertificate: "cert", ClientKey: "key", ClusterCACertificate: "ca"},
			rest.Config{Host: "https://h.example", BearerToken: "t", Username: "u", Password: "p", TLSClientConfig: rest.TLSClientConfig{Insecure: true, CertData: []byte("cert"), KeyData: []byte("key"), CAData: []byte("ca")}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.cfg.restConfig()
			if err != nil {
				t.Fatal(err)
			}
			if describe(got) != describe(&test.want) {
				t.Errorf("got  %s\nwant %s", describe(got), describe(&test.want))
			}
		})
	}
}

// describe prints what a server would notice; rest.Config hides its credentials when printed.
func describe(c *rest.Config) string {
	return fmt.Sprintf("host=%s token=%s user=%s:%s insecure=%v cert=%s key=%s ca=%s",
		c.Host, c.BearerToken, c.Username, c.Password, c.Insecure, c.CertData, c.KeyData, c.CAData)
}

func TestConfigProxy(t *testing.T) {
	rc, err := Config{Host: "https://h.example", ProxyURL: "http://proxy.example:3128"}.restConfig()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := rc.Proxy(nil); err != nil || got.Host != "proxy.example:3128" {
		t.Errorf("proxy = %v, %v", got, err)
	}
}

func TestConfigErrors(t *testing.T) {
	outsideAPod(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	write(t, path, kubeconfig)
	bad := filepath.Join(dir, "bad")
	write(t, bad, "{")

	tests := map[string]struct {
		cfg  Config
		want string
	}{
		"nothing":         {Config{}, "set in_cluster_config, config_path or host"},
		"not in a pod":    {Config{InClusterConfig: true}, "in_cluster_config: "},
		"missing file":    {Config{ConfigPath: filepath.Join(dir, "absent")}, "config_path: "},
		"not YAML":        {Config{ConfigPath: bad}, "kubeconfig " + bad},
		"unknown context": {Config{ConfigPath: path, ConfigContext: "x"}, `context "x" does not exist`},
		"bad proxy":       {Config{Host: "https://h", ProxyURL: "http://u:sesame@:x"}, "proxy_url: not a URL"},
		"bad certificate": {Config{Host: "https://h", ClusterCACertificate: "sesame"}, "kubernetes client: "},
		"insecure and CA": {Config{Host: "https://h", Insecure: true, ClusterCACertificate: "sesame"}, "insecure"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error = %v, want %q in it", err, test.want)
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Errorf("error tells a secret: %v", err)
			}
		})
	}
}

func TestConfigHidesCredentials(t *testing.T) {
	cfg := Config{Host: "https://h", Token: "sesame", Password: "sesame", ClientKey: "sesame", ProxyURL: "http://u:sesame@p"}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("connect", "config", cfg)
	for _, text := range []string{fmt.Sprintf("%v", cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), log.String()} {
		if strings.Contains(text, "sesame") || !strings.Contains(text, "https://h") {
			t.Errorf("printed as %q", text)
		}
	}
}

// outsideAPod makes the test behave alike when it runs in a pod.
func outsideAPod(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBERNETES_SERVICE_PORT", "")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
