package runner

import (
	stdcmp "cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/root"
)

// newBackend is what a root without a backend block gets; kind may be empty.
func newBackend(kind string, settings []string, namespace string) (backend, error) {
	b, err := readBackend(settings)
	if err == nil {
		err = b.become(stdcmp.Or(kind, b.infer()), namespace)
	}
	return b, err
}

func TestNewBackend(t *testing.T) {
	tests := []struct {
		name      string
		kind      string
		settings  []string
		namespace string
		wantKind  string
		wantArgs  []string
		wantEnv   map[string]string
	}{
		{
			name: "kubernetes in a pod", settings: []string{"secret_suffix=abc-c", "in_cluster_config=true"}, namespace: "tf",
			wantKind: "kubernetes", wantArgs: []string{"secret_suffix=abc-c", "in_cluster_config=true", "namespace=tf"},
		},
		{
			name: "a namespace of its own", settings: []string{"secret_suffix=abc-c", "namespace=own"}, namespace: "tf",
			wantKind: "kubernetes", wantArgs: []string{"secret_suffix=abc-c", "namespace=own"},
		},
		{
			name: "credentials go by the environment", settings: []string{"secret_suffix=a-c", "token=t0ken", "client_key=PEM", "host=https://k"},
			wantKind: "kubernetes", wantArgs: []string{"secret_suffix=a-c", "host=https://k"},
			wantEnv: map[string]string{"KUBE_TOKEN": "t0ken", "KUBE_CLIENT_KEY_DATA": "PEM"},
		},
		{
			name: "http", settings: []string{"address=http://s/x", "username=u", "password=p=q"},
			wantKind: "http", wantArgs: []string{"address=http://s/x", "username=u"}, wantEnv: map[string]string{"TF_HTTP_PASSWORD": "p=q"},
		},
		{
			name: "a map with spaces and equal signs", settings: []string{"secret_suffix=a-c", `labels={"a"="b c","d"="e=f"}`},
			wantKind: "kubernetes", wantArgs: []string{"secret_suffix=a-c", `labels={"a"="b c","d"="e=f"}`},
		},
		{
			name: "a type that only the caller knows", kind: "s3", settings: []string{"bucket=b", "key=k", "secret_key=s"},
			wantKind: "s3", wantArgs: []string{"bucket=b", "key=k"}, wantEnv: map[string]string{"AWS_SECRET_ACCESS_KEY": "s"},
		},
		{
			name: "credentials of all kinds, azurerm", kind: "azurerm",
			settings: []string{"key=k", "use_azuread_auth=true", "oidc_token=a", "oidc_request_token=b", "client_certificate=c", "oidc_token_file_path=/f"},
			wantKind: "azurerm", wantArgs: []string{"key=k", "use_azuread_auth=true", "oidc_token_file_path=/f"},
			wantEnv: map[string]string{"ARM_OIDC_TOKEN": "a", "ARM_OIDC_REQUEST_TOKEN": "b", "ARM_CLIENT_CERTIFICATE": "c"},
		},
		{
			name: "consul", kind: "consul", settings: []string{"address=c:8500", "http_auth=u:p", "key_file=/k"},
			wantKind: "consul", wantArgs: []string{"address=c:8500", "key_file=/k"}, wantEnv: map[string]string{"CONSUL_HTTP_AUTH": "u:p"},
		},
		{
			name: "the customer's key of s3", kind: "s3", settings: []string{"sse_customer_key=s", "kms_key_id=id", `assume_role_with_web_identity={web_identity_token_file="/f"}`},
			wantKind: "s3", wantArgs: []string{"kms_key_id=id", `assume_role_with_web_identity={web_identity_token_file="/f"}`},
			wantEnv: map[string]string{"AWS_SSE_CUSTOMER_KEY": "s"},
		},
		{name: "nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := newBackend(tt.kind, tt.settings, tt.namespace)
			if err != nil {
				t.Fatal(err)
			}
			if tt.wantEnv == nil {
				tt.wantEnv = map[string]string{}
			}
			if b.kind != tt.wantKind || cmp.Diff(tt.wantArgs, b.args) != "" || cmp.Diff(tt.wantEnv, b.env) != "" {
				t.Errorf("backend %q\nargs %q\nenv  %q\nwant %q\nargs %q\nenv  %q", b.kind, b.args, b.env, tt.wantKind, tt.wantArgs, tt.wantEnv)
			}
		})
	}
}

func TestNewBackendRefuses(t *testing.T) {
	tests := []struct {
		name, kind string
		settings   []string
	}{
		{"no equal sign", "", []string{"secret_suffix"}},
		{"no key", "", []string{"=x"}},
		{"twice", "", []string{"a=1", "a=2"}},
		{"a credential of an unknown backend", "", []string{"my_secret=hidden"}},
		{"a credential that a known backend has no variable for", "oci", []string{"private_key=hidden"}},
		{"a key that looks like one", "s3", []string{"new_api_token=hidden"}},
		{"a token in a map", "s3", []string{`assume_role_with_web_identity={web_identity_token="hidden"}`}},
		{"a user in an address", "http", []string{"address=https://u:hidden@s/x"}},
		{"a user in a lock address", "http", []string{"lock_address=https://hidden@s/x"}},
		{"a user in a proxy", "kubernetes", []string{"proxy_url=http://u:hidden@p"}},
		{"a user in a host", "kubernetes", []string{"host=u:hidden@h"}},
		{"a user in a URL of a map", "s3", []string{`endpoints={s3="https://u:hidden@h"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newBackend(tt.kind, tt.settings, "")
			if !errors.Is(err, errUsage) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("err = %v, want a usage error without the value", err)
			}
		})
	}
}

// The list holds nothing that passes without it, and no credential.
func TestHarmlessSettings(t *testing.T) {
	for kind, keys := range harmless {
		for _, key := range keys {
			if !redact.SecretName(key) || credentials[kind][key] != "" {
				t.Errorf("%s of %s is on the list for nothing, or is a credential", key, kind)
			}
			if err := checkPublic(kind, key, "x"); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDeclareBackend(t *testing.T) {
	declared := func(kind string) *root.Module {
		return &root.Module{Backend: &root.Backend{Type: kind, Location: root.Location{File: "main.tf"}}}
	}
	tests := []struct {
		name     string
		module   *root.Module
		kind     string
		settings []string
		want     string // empty: refused
		override bool
	}{
		{"s3 with a key", declared("s3"), "", []string{"bucket=b", "key=p", "secret_key=s"}, "s3", false},
		{"consul with an address", declared("consul"), "", []string{"address=c:8500", "path=p"}, "consul", false},
		{"consul with an address, said twice", declared("consul"), "consul", []string{"address=c:8500"}, "consul", false},
		{"another one than --backend", declared("s3"), "http", nil, "", false},
		{"settings of kubernetes", declared("s3"), "", []string{"secret_suffix=a-c"}, "", false},
		{"settings of http", declared("kubernetes"), "", []string{"address=http://s"}, "", false},
		{"none, and settings that tell", &root.Module{}, "", []string{"address=http://s"}, "http", true},
		{"none, and --backend", &root.Module{}, "consul", []string{"address=c"}, "consul", true},
		{"none, and settings that do not tell", &root.Module{}, "", []string{"key=p"}, "", false},
		{"a cloud block", &root.Module{Cloud: &root.Location{File: "main.tf"}}, "", nil, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			b, err := readBackend(tt.settings)
			if err != nil {
				t.Fatal(err)
			}
			got, note, err := declareBackend(tt.module, dir, tt.kind, &b)
			if tt.want != "" && got != tt.want || (tt.want == "") != errors.Is(err, errUsage) {
				t.Errorf("declared %q, err = %v, want %q", got, err, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir, root.OverrideName)); (err == nil) != tt.override || (note != "") != tt.override {
				t.Errorf("override: %v, note %q, want one: %v", err, note, tt.override)
			}
		})
	}
}

func TestKubeConfigOfBackend(t *testing.T) {
	b, err := newBackend("", []string{"secret_suffix=a-c", "namespace=ns", "in_cluster_config=true", "insecure=true", `config_paths=["/a","/b"]`, "token=t"}, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.kubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	if !c.InClusterConfig || !c.Insecure || c.Namespace != "ns" || c.Token != "t" || cmp.Diff([]string{"/a", "/b"}, c.ConfigPaths) != "" {
		t.Errorf("config = %+v", c)
	}
	for _, wrong := range []string{"in_cluster_config=maybe", "config_paths=/a:/b"} {
		b, err := newBackend("kubernetes", []string{wrong}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.kubeConfig(); !errors.Is(err, errUsage) {
			t.Errorf("%s: err = %v, want a usage error", wrong, err)
		}
	}
}

func TestLabelsOfBackend(t *testing.T) {
	tests := []struct {
		text string
		want map[string]string // nil: refused
	}{
		{`{"a/b"="c","d"=""}`, map[string]string{"a/b": "c", "d": ""}},
		{`{a = "x", "n" = 1}`, map[string]string{"a": "x", "n": "1"}},
		{`{"a": "x"}`, map[string]string{"a": "x"}},
		{`{}`, map[string]string{}},
		{`["a"]`, nil},
		{`{"a" = [1]}`, nil},
		{`{"a" = null}`, nil},
		{`{"a" = var.x}`, nil},
		{`{"a"`, nil},
	}
	for _, tt := range tests {
		b := backend{settings: map[string]string{"labels": tt.text}}
		got, err := b.labels()
		if tt.want == nil && !errors.Is(err, errUsage) {
			t.Errorf("%s: labels = %v, err = %v, want a usage error", tt.text, got, err)
		}
		if tt.want != nil && (err != nil || cmp.Diff(tt.want, got) != "") {
			t.Errorf("%s: labels = %v, err = %v, want %v", tt.text, got, err, tt.want)
		}
	}
}
