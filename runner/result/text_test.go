package result

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"plain":           {"Error: a\n\tb", "Error: a\n\tb"},
		"colours":         {"\x1b[31m\x1b[1mError: \x1b[0mno", "Error: no"},
		"long parameters": {"\x1b[38;2;255;0;0mred\x1b[m", "red"},
		"cursor":          {"a\x1b[2K\x1b[?25lb", "ab"},
		"title BEL":       {"\x1b]0;title\x07text", "text"},
		"link ST":         {"\x1b]8;;https://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		"character set":   {"\x1b(Btext", "text"},
		"short":           {"\x1b7text\x1bM", "text"},
		"unfinished":      {"text\x1b", "text"},
		"unended title":   {"\x1b]0;title\nnext line", "0;title\nnext line"},
		"carriage return": {"10%\r20%\r\ndone", "10%20%\ndone"},
		"control":         {"a\x00b\x7fc\u009bd", "abcd"},
		"multi-byte":      {"Fehler: \x1b[1mü\x1b[0m 日本", "Fehler: ü 日本"},
		"invalid":         {"a\xff\xfeb", "a\ufffdb"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Plain(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	tests := map[string]struct {
		in    string
		limit int
		want  string
	}{
		"fits":            {"abc", 3, "abc"},
		"marked":          {strings.Repeat("a", 21), 20, strings.Repeat("a", 11) + "… [cut]"},
		"rune boundary":   {strings.Repeat("ü", 10), 18, "üüüü… [cut]"},
		"emoji":           {"😀😀😀😀", 14, "😀… [cut]"},
		"just the mark":   {strings.Repeat("a", 20), 9, "… [cut]"},
		"no room to mark": {strings.Repeat("a", 20), 5, "aaaaa"},
		"inside a rune":   {"日本語", 4, "日"},
		"no rune at all":  {"\x80\x80\x80", 1, ""},
		"nothing":         {"abc", 0, ""},
		"negative":        {"abc", -1, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Cut(tt.in, tt.limit); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// https://github.com/operator-framework/operator-controller/issues/2169
func TestTailOfLongText(t *testing.T) {
	got := Tail("\x1b[31m" + strings.Repeat("日本語", 10_000))
	if len(got) > TailSize || len(got) < TailSize-3 || !utf8.ValidString(got) || !strings.HasSuffix(got, cutMark) {
		t.Errorf("got %d bytes, %q", len(got), got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b[31mError\x1b[0m", 10)
	f.Add("日本語\xff\x1b]0;", 7)
	f.Add("\x1b\x1b[[m\x1b", 0)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		plain := Plain(s)
		if !utf8.ValidString(plain) || strings.IndexFunc(plain, isNoise) >= 0 {
			t.Errorf("Plain(%q) = %q", s, plain)
		}
		if again := Plain(plain); again != plain {
			t.Errorf("Plain(%q) = %q, and then %q", s, plain, again)
		}
		cut := Cut(plain, limit)
		if len(cut) > max(limit, 0) || !utf8.ValidString(cut) {
			t.Errorf("Cut(%q, %d) = %q", plain, limit, cut)
		}
		if !strings.HasPrefix(plain, strings.TrimSuffix(cut, cutMark)) {
			t.Errorf("Cut(%q, %d) = %q is not its start", plain, limit, cut)
		}
	})
}
