package runner

import (
	"regexp"
	"slices"

	"github.com/captf/captf-runner/runner/redact"
)

// credentials are the settings that go to the child by an environment variable, never by argv: init
// would also write them in clear to its data directory. Both runtimes read all of these variables.
var credentials = map[string]map[string]string{
	"http":       {"password": "TF_HTTP_PASSWORD", "client_private_key_pem": "TF_HTTP_CLIENT_PRIVATE_KEY_PEM"},
	"kubernetes": {"token": "KUBE_TOKEN", "password": "KUBE_PASSWORD", "client_key": "KUBE_CLIENT_KEY_DATA"},
	"s3": {
		"access_key": "AWS_ACCESS_KEY_ID", "secret_key": "AWS_SECRET_ACCESS_KEY", "token": "AWS_SESSION_TOKEN",
		"sse_customer_key": "AWS_SSE_CUSTOMER_KEY",
	},
	"gcs": {"credentials": "GOOGLE_BACKEND_CREDENTIALS", "access_token": "GOOGLE_OAUTH_ACCESS_TOKEN", "encryption_key": "GOOGLE_ENCRYPTION_KEY"},
	"azurerm": {
		"access_key": "ARM_ACCESS_KEY", "sas_token": "ARM_SAS_TOKEN", "client_secret": "ARM_CLIENT_SECRET",
		"client_certificate": "ARM_CLIENT_CERTIFICATE", "client_certificate_password": "ARM_CLIENT_CERTIFICATE_PASSWORD",
		"oidc_token": "ARM_OIDC_TOKEN", "oidc_request_token": "ARM_OIDC_REQUEST_TOKEN",
	},
	"pg":     {"conn_str": "PG_CONN_STR"},
	"consul": {"access_token": "CONSUL_HTTP_TOKEN", "http_auth": "CONSUL_HTTP_AUTH"},
	"cos":    {"secret_id": "TENCENTCLOUD_SECRET_ID", "secret_key": "TENCENTCLOUD_SECRET_KEY", "security_token": "TENCENTCLOUD_SECURITY_TOKEN"},
	"oss":    {"access_key": "ALICLOUD_ACCESS_KEY", "secret_key": "ALICLOUD_SECRET_KEY", "security_token": "ALICLOUD_SECURITY_TOKEN"},
}

// harmless are the settings that [redact.SecretName] takes for secrets and that are none: names of keys and files,
// public certificates, switches.
var harmless = map[string][]string{
	"http":       {"client_certificate_pem", "client_ca_certificate_pem", "skip_cert_verification"},
	"kubernetes": {"secret_suffix", "client_certificate", "cluster_ca_certificate", "config_context_auth_info"},
	"s3": {
		"key", "kms_key_id", "workspace_key_prefix", "shared_credentials_file", "shared_credentials_files",
		"skip_credentials_validation", "session_name", "assume_role_transitive_tag_keys",
	},
	"gcs":     {"kms_encryption_key"},
	"azurerm": {"key", "use_azuread_auth", "oidc_token_file_path", "client_certificate_path", "client_secret_file_path"},
	"consul":  {"cert_file", "key_file"},
	"cos":     {"key"},
	"oss":     {"key", "shared_credentials_file", "assume_role_session_name", "assume_role_session_expiration"},
	"oci":     {"key", "kms_key_id", "auth", "private_key_path", "sse_customer_key_sha256"},
}

// urls are the settings that name a server. All but these are judged by their "://".
var urls = []string{"address", "lock_address", "unlock_address", "host", "proxy_url", "endpoint", "http_proxy", "https_proxy"}

var (
	userInfo         = regexp.MustCompile(`://[^/?#\s"]*@`)
	userInfoOfServer = regexp.MustCompile(`^[^/?#]*@`)
	// webToken is a secret inside of a map of the s3 backend.
	webToken = regexp.MustCompile(`\bweb_identity_token\b`)
)

// checkPublic refuses a setting that would show a secret in argv.
func checkPublic(kind, key, value string) error {
	switch {
	case redact.SecretName(key) && !slices.Contains(harmless[kind], key),
		key == "assume_role_with_web_identity" && webToken.MatchString(value):
		return usagef("--backend-config: %s looks like a credential, and for backend %q no environment variable is known to hand it on by: it would be visible in argv; give it by a file or a variable that the backend reads", key, kind)
	case userInfo.MatchString(value), slices.Contains(urls, key) && userInfoOfServer.MatchString(value):
		return usagef("--backend-config: the URL of %s holds a user: it would be visible in argv; give the user and the password as settings of their own", key)
	}
	return nil
}
