package redact

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretName(t *testing.T) {
	secret := []string{
		"AWS_SECRET_ACCESS_KEY", "client_secret", "api_key", "ApiToken", "DB_PASSWORD", "passphrase", "credentials",
		"private_pem", "OAUTH", "tls_cert", "session_id",
	}
	for _, name := range secret {
		if !SecretName(name) {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, name := range []string{"", "HOME", "region", "PAT", "SESS", "KE_Y"} {
		if SecretName(name) {
			t.Errorf("%s is a secret", name)
		}
	}
}

func TestFromEnv(t *testing.T) {
	got := FromEnv([]string{"HOME=/root", "TF_HTTP_PASSWORD=a=b", "EMPTY_TOKEN=", "NO_VALUE_KEY", "session=s", "=C:=key"})
	if diff := cmp.Diff([]string{"a=b", "s"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFromVariables(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"leaves at any depth", `{"password":{"a":["x",1.50,{"b":"y"}],"c":true,"d":null},"region":"eu"}`, []string{"1.50", "x", "y"}},
		{"declared sensitive", `{"declared":"x","other":"y"}`, []string{"x"}},
		{"only the variable's own name counts", `{"db":{"password":"x"}}`, nil},
		{"broken document", `{"password":"x","token":"y","region":`, []string{"x", "y"}},
		{"broken key", `{"password":"x",1:2}`, []string{"x"}},
		{"trailing text", `{"password":"x"} {`, []string{"x"}},
		{"not an object", `["password"]`, nil},
		{"empty", ``, nil},
	}
	sensitive := func(name string) bool { return SecretName(name) || name == "declared" }
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := FromVariables([]byte(tt.in), sensitive)
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
