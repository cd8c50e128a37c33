package shell

import "testing"

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"": "''", "a-B_1./:@,+%=": "a-B_1./:@,+%=", "a b": "'a b'", "it's": `'it'\''s'`, "~": "'~'", "$(x)": "'$(x)'", "é": "'é'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q is quoted %s, want %s", word, got, want)
		}
	}
}
