package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf/captf-runner/runner/result"
)

// encodings are the ways in which a secret can be written, each by the library that defines it.
var encodings = map[string]func(string) string{
	"plain":              func(s string) string { return s },
	"json":               jsonText,
	"json, no HTML":      noHTML,
	"json in json":       func(s string) string { return jsonText(jsonText(s)) },
	"no HTML in json":    func(s string) string { return jsonText(noHTML(s)) },
	"no HTML in no HTML": func(s string) string { return noHTML(noHTML(s)) },
	"hcl":                hclText,
	"go":                 func(s string) string { return inner(strconv.Quote(s)) },
	"base64":             func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 url":         func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64 raw":         func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 url raw":     func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64, normalised": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(cty.NormalizeString(s))) },
	"url query":          url.QueryEscape,
	"url path":           url.PathEscape,
	"url user":           func(s string) string { return url.User(s).String() },
	"url": func(s string) string {
		return (&url.URL{Scheme: "https", User: url.UserPassword("u", s), Host: "h"}).String()
	},
	"trimmed":                    strings.TrimSpace,
	"normalised":                 cty.NormalizeString,
	"indented":                   func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") },
	"windows newline":            func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"without control characters": result.Plain,
	"indented and without control characters": func(s string) string {
		return "    " + result.Plain(strings.ReplaceAll(s, "\n", "\n    "))
	},
}

// noHTML is how JSON is written by an encoder that leaves <, > and & as they are.
func noHTML(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(jsonText(s))
}

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return inner(string(b))
}

func hclText(s string) string {
	return inner(string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()))
}

// inner is what stands between the quotes, because a secret mostly stands in a longer string.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

var awkward = []string{
	"s3cr3t-password",
	`quote " backslash \ slash /`,
	"<html> & 'quotes'",
	`<a href="x&y">`,
	"nul\x00 back\bspace <&>",
	"${interpolated} %{if} $${twice} $ { %",
	"tab\tcr\rbell\a nul\x00 line\u2028sep",
	"plus+equals=colon:at@semi;comma,question?hash#percent%20",
	"-----BEGIN KEY-----\nMIIBOgIBAAJB\nAKj34Gkx/+==\n-----END KEY-----\n",
	"пароль \U0001F511 \u00e9",
	"e\u0301te\u0301 decomposed \ufa01",
	"first e\u0301\nsecond e\u0301\n",
	"first e\u0301\a line\nsecond\x1b[1m line\n",
	"ab\a\ncd\nef",
}

func TestEveryForm(t *testing.T) {
	for _, secret := range awkward {
		r := redactor(secret)
		for name, encode := range encodings {
			text := encode(secret)
			got := r.String("before " + text + " after")
			for line := range strings.Lines(secret) {
				line = strings.TrimSpace(line)
				for _, form := range []string{line, cty.NormalizeString(line), result.Plain(line)} {
					if worthHiding(form) && strings.Contains(got, form) {
						t.Errorf("%s of %q: %q survived in %q", name, secret, form, got)
					}
				}
			}
			if showsWhole(name) && strings.Contains(got, text) {
				t.Errorf("%s of %q survived in %q", name, secret, got)
			}
			if want := "before (sensitive) after"; showsWhole(name) && name != "url" && got != want {
				t.Errorf("%s of %q: got %q, want %q: no end of a value is left over", name, secret, got, want)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("%s of %q: the text around it was lost: %q", name, secret, got)
			}
		}
	}
}

// Package hclwrite says what HCL is.
func TestHCLQuoted(t *testing.T) {
	for _, s := range append([]string{"", "$${", "$$$", "%%{{", "\u2028\U000e0001\ufffe", "\xff\xc3", "\x7f", "e\u0301"}, awkward...) {
		if got, want := hclQuoted(s), hclText(s); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	}
}

// FuzzNoSecretSurvives hides a secret in a text, in each encoding, beside a second secret.
func FuzzNoSecretSurvives(f *testing.F) {
	for _, s := range awkward {
		f.Add(s, "cr3t-p", "before ", " after")
	}
	f.Add("aaaa", "aaaaa", "a", "aa")
	f.Add("x(sensi", "tive)", "x", "(sensitive)")
	f.Fuzz(func(t *testing.T, secret, second, before, after string) {
		r := redactor(secret, second)
		for name, encode := range encodings {
			text := before + encode(secret) + after + second
			got := r.String(text)
			checkGone(t, name, got, append(lines(secret), second, secret)...)
			if showsWhole(name) && worthHiding(secret) {
				checkGone(t, name, got, encode(secret))
			}
			if again := r.String(got); again != got && !strings.ContainsAny(secret+second, "()") {
				t.Errorf("%s: redacted twice it is %q, once %q", name, again, got)
			}
		}
	})
}

// checkGone looks at what is left between placeholders: joined to one, honest text may happen
// to look like a secret that contains a part of the placeholder's own text.
func checkGone(t *testing.T, name, got string, secrets ...string) {
	t.Helper()
	for rest := range strings.SplitSeq(got, Placeholder) {
		for _, s := range secrets {
			if worthHiding(s) && strings.Contains(rest, s) {
				t.Errorf("%s: %q survived in %q", name, s, got)
			}
		}
	}
}

func lines(s string) []string {
	var all []string
	for line := range strings.Lines(s) {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

// showsWhole is false for what shows each line on its own: short lines are not hidden.
func showsWhole(encoding string) bool {
	return !strings.HasPrefix(encoding, "indented") && encoding != "windows newline"
}
