package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/zclconf/go-cty/cty"

	"github.com/captf/captf-runner/runner/result"
)

var base64s = []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding}

// forms lists the texts in which the value v may show up. Some may be equal.
func forms(v string) []string {
	if !worthHiding(v) {
		return nil
	}
	var all []string
	// The runtimes normalise every string, and control characters are taken out of what is printed.
	for _, whole := range []string{v, strings.TrimSpace(v), cty.NormalizeString(v), result.Plain(v)} {
		all = append(all, escaped(whole)...)
		for _, enc := range base64s {
			all = append(all, enc.EncodeToString([]byte(whole)))
		}
	}
	for line := range strings.Lines(v) {
		// Trimmed, because a line is often printed with another indentation.
		if line = strings.TrimSpace(line); worthHiding(line) {
			all = append(all, escaped(line)...)
			all = append(all, escaped(cty.NormalizeString(line))...)
			all = append(all, escaped(result.Plain(line))...)
		}
	}
	return all
}

// escaped lists v as it is and as it is written inside quotes and URLs.
func escaped(v string) []string {
	all := []string{
		v,
		hclQuoted(v),
		unquote(strconv.Quote(v)),
		url.QueryEscape(v),
		url.PathEscape(v),
		url.User(v).String(),
	}
	for _, once := range []string{jsonQuoted(v, true), jsonQuoted(v, false)} {
		// A JSON text inside a JSON string: jsonencode() in a diagnostic.
		all = append(all, once, jsonQuoted(once, true), jsonQuoted(once, false))
	}
	return all
}

func jsonQuoted(v string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(v); err != nil {
		return v // a string always encodes
	}
	return unquote(strings.TrimSuffix(b.String(), "\n"))
}

var hclEscapes = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, `"`, `\"`, `\`, `\\`, "${", "$${", "%{", "%%{")

// hclQuoted is v as HCL writes it inside quotes. Package hclwrite does the same, but links go-cmp, whose initialisation
// would be an eighth of the runner's start.
func hclQuoted(v string) string {
	var b strings.Builder
	for _, r := range hclEscapes.Replace(cty.NormalizeString(v)) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 1<<16:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// unquote takes away the quotes around q, and leaves the escapes in it.
func unquote(q string) string { return q[1 : len(q)-1] }
