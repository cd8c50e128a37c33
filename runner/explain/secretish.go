package explain

import (
	"regexp"
	"strings"

	"github.com/captf/captf-runner/runner/redact"
)

// secretNames are names that mostly stand for secrets in a state, beside those of redact.SecretName. A runner's logs
// and variables are not judged by them.
var secretNames = regexp.MustCompile(`(?i)kube_?config|pwd|user_?data|custom_?data|connection_?string|(^|[^a-z0-9])(pw|dsn)([^a-z0-9]|$)`)

// secretName reports whether a name says that the value is a secret.
func secretName(name string) bool { return redact.SecretName(name) || secretNames.MatchString(name) }

// secretValue reports whether a value is a secret by its looks, whatever it is called: it has a private key in PEM, a URL
// with a password, or a password in a connection string.
func secretValue(value any) bool {
	text := leafText(value)
	return privateKey.MatchString(text) || around(text, "://", urlPassword) || around(text, "=", assignedPassword)
}

// around reports whether judge says so of what stands before and behind one of the marks in text. A regular expression
// without a mark to start from would look at each byte several times, and a value may have 64 MiB.
func around(text, mark string, judge func(before, behind string) bool) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], mark)
		if i < 0 {
			return false
		}
		before := text[:from+i]
		from += i + len(mark)
		if judge(before, text[from:]) {
			return true
		}
	}
}

var (
	privateKey   = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`)
	userinfo     = regexp.MustCompile(`^[^\s/:@?#]*:[^\s/@]+@`)
	passwordName = regexp.MustCompile(`(?i)(^|[^0-9a-z_])(password|passwd|pwd)$`)
)

const (
	letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	whitespace = "\t\n\f\r "
)

func urlPassword(before, behind string) bool {
	scheme := before[len(strings.TrimRight(before, letters+"0123456789+.-")):]
	return strings.ContainsAny(scheme, letters) && userinfo.MatchString(behind)
}

func assignedPassword(before, behind string) bool {
	before, behind = strings.TrimRight(before, whitespace), strings.TrimLeft(behind, whitespace)
	const longest = len("password") + 1 // and what is before it
	return behind != "" && behind[0] != ';' && passwordName.MatchString(before[max(0, len(before)-longest):])
}
