package redact

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/captf/captf-runner/runner/result"
)

func redactor(values ...string) *Redactor {
	r := New()
	r.Add(values...)
	return r
}

func TestString(t *testing.T) {
	tests := []struct {
		name     string
		secrets  []string
		in, want string
	}{
		{"no secrets", nil, "all of it", "all of it"},
		{"not in the text", []string{"s3cr3t"}, "all of it", "all of it"},
		{"empty text", []string{"s3cr3t"}, "", ""},
		{"every occurrence", []string{"s3cr3t"}, "a s3cr3t and s3cr3t.", "a (sensitive) and (sensitive)."},
		{"whole text", []string{"s3cr3t"}, "s3cr3t", "(sensitive)"},
		{"side by side", []string{"s3cr3t"}, "s3cr3ts3cr3t", "(sensitive)(sensitive)"},
		{"prefix only", []string{"s3cr3t"}, "s3cr3", "s3cr3"},
		{"longest first", []string{"s3cr", "s3cr3t-long", "s3cr3t"}, "s3cr3t-long s3cr3t s3cr", "(sensitive) (sensitive) (sensitive)"},
		{"overlap leaves no end", []string{"abcdef", "defghi"}, "-abcdefghi-", "-(sensitive)-"},
		{"chain of overlaps", []string{"abcdef", "efghij", "ijklmn"}, "abcdefghijklmn", "(sensitive)"},
		{"overlap from the second character on", []string{"abcdef", "bcdefgh"}, "abcdefgh", "(sensitive)"},
		{"overlap with itself", []string{"abab"}, "xababab", "x(sensitive)"},
		{"inside another", []string{"outer-inner-outer", "inner"}, "outer-inner-outer", "(sensitive)"},
		{"multi-byte", []string{"пароль"}, "это пароль!", "это (sensitive)!"},
		{"four characters", []string{"abcd"}, "abcd", "(sensitive)"},
		{"three characters", []string{"abc", "пар"}, "abc пар", "abc пар"},
		{"short with space around", []string{" ab ", "    "}, "    ab    ", "    ab    "},
		{"words", []string{"true", "false", "null", "True", "FALSE"}, "true false null True FALSE", "true false null True FALSE"},
		{"invalid UTF-8", []string{"\xff\xfe\xfd\xfc"}, "a\xff\xfe\xfd\xfcb", "a(sensitive)b"},
		{"shorter when normalised", []string{"\u03b1\u0313\u0300\u0345"}, "a \u03b1\u0313\u0300\u0345 b", "a (sensitive) b"},
		{"part of the placeholder", []string{"sensitive"}, "sensitive (sensitive)", "(sensitive) (sensitive)"},

		{"start of one at a cut", []string{"s3cr3t"}, "a s3cr" + result.LineCut, "a " + result.LineCut},
		{"nothing but a start at a cut", []string{"s3cr3t"}, "s3cr3" + result.LineCut, "" + result.LineCut},
		{"a text with the same start at a cut", []string{"s3cr3t"}, "s3cr-" + result.LineCut, "s3cr-" + result.LineCut},
		{"first character at a cut", []string{"s3cr3t"}, "as" + result.LineCut, "a" + result.LineCut},
		{"whole one at a cut", []string{"s3cr3t"}, "s3cr3t" + result.LineCut, "(sensitive)" + result.LineCut},
		{"the end of one starts another", []string{"s3cr3t", "token"}, "a s3cr3t" + result.LineCut, "a " + result.LineCut},
		{"start of one at the second cut", []string{"s3cr3t"}, "a" + result.LineCut + "\nb s3c" + result.LineCut + "\n", "a" + result.LineCut + "\nb " + result.LineCut + "\n"},

		{"each line", []string{"first line\nsecond line\n"}, "> second line\n> first line", "> (sensitive)\n> (sensitive)"},
		{"line with another indentation", []string{"{\r\n  \"k\": 12345\r\n}"}, "      \"k\": 12345", "      (sensitive)"},
		{"short lines stay", []string{"abc\ntrue\nlong enough"}, "abc true", "abc true"},
		{"whole multi-line value", []string{"abc\ndef"}, "abc\ndef", "(sensitive)"},
		{"line in normal form", []string{"a \"e\u0301\"\nsecond line"}, "> a \"\u00e9\"", "> (sensitive)"},
		{"short lines together", []string{"\nab\ncd\n"}, "[ab\ncd]", "[(sensitive)]"},
		{"base64 with its padding", []string{"s3cr3ts"}, "czNjcjN0cw== czNjcjN0cw", "(sensitive) (sensitive)"},
		{"base64 for URLs with its padding", []string{"\xff\xef\xfe\xfb"}, "/+/++w== _-_--w== _-_--w", "(sensitive) (sensitive) (sensitive)"},
		{"without its last newline", []string{"s3cr3t\n"}, "password=s3cr3t.", "password=(sensitive)."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := redactor(tt.secrets...)
			got := r.String(tt.in)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if again := r.String(got); again != got {
				t.Errorf("redacted twice it is %q", again)
			}
		})
	}
}

// Add may be called while others redact: what was added before String is called is replaced.
func TestConcurrentUse(t *testing.T) {
	r := New()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				secret := fmt.Sprintf("secret-%d-%d", g, i)
				r.Add(secret)
				if got := r.String("x " + secret + " y"); strings.Contains(got, secret+" ") {
					t.Errorf("%s survived in %q", secret, got)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkString(b *testing.B) {
	line := strings.Repeat("module.network.aws_subnet.private[2]: Refreshing state... [id=subnet-0abc] ", 14)
	for _, n := range []int{0, 1, 300} {
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			r := New()
			for i := range n {
				r.Add(fmt.Sprintf("%x-secret-value-%d", i*7919, i))
			}
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				r.String(line)
			}
		})
	}
}
