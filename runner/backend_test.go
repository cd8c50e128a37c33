package runner

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
	for name, settings := range map[string][]string{
		"no equal sign":                      {"secret_suffix"},
		"no key":                             {"=x"},
		"twice":                              {"a=1", "a=2"},
		"a credential of an unknown backend": {"my_secret=x"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newBackend("", settings, ""); !errors.Is(err, errUsage) {
				t.Errorf("err = %v, want a usage error", err)
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
