package explain

import (
	"regexp"

	"github.com/captf/captf-runner/runner/redact"
)

// secretNames are names that mostly stand for secrets in a state, beside those of redact.SecretName. A runner's logs
// and variables are not judged by them.
var secretNames = regexp.MustCompile(`(?i)kube_?config|pwd|user_?data|custom_?data|connection_?string|(^|[^a-z0-9])(pw|dsn)([^a-z0-9]|$)`)

// secretName reports whether a name says that the value is a secret.
func secretName(name string) bool { return redact.SecretName(name) || secretNames.MatchString(name) }

// secretValues are the looks of secrets: a private key in PEM, a URL and a connection string with a password.
var secretValues = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY|` +
	`[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@?#]*:[^\s/@]+@|` +
	`(?i)\b(password|passwd|pwd)\s*=\s*[^\s;]`)

// secretValue reports whether a value is a secret, whatever it is called.
func secretValue(value any) bool { return secretValues.MatchString(leafText(value)) }
