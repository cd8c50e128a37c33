package statesrv

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseLockInfo(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       int
	}{
		{"OpenTofu's", `{"ID":"1dc81f46","Operation":"OperationTypeApply","Info":"","Who":"root@vm","Version":"1.12.6","Created":"2026-11-30T01:47:54Z","Path":""}`, 200},
		{"only an ID", `{"ID":"x"}`, 200},
		{"unknown fields", `{"ID":"x","More":[1,{"a":null}]}`, 200},
		{"empty", "", 400},
		{"blank", " \n", 400},
		{"null", "null", 400},
		{"empty object", "{}", 400},
		{"array", "[]", 400},
		{"array of one", `[{"ID":"x"}]`, 400},
		{"string", `"x"`, 400},
		{"empty ID", `{"ID":""}`, 400},
		{"ID is a number", `{"ID":7}`, 400},
		{"Who is an object", `{"ID":"x","Who":{}}`, 400},
		{"torn", `{"ID":"x"`, 400},
		{"two", `{"ID":"x"}{"ID":"y"}`, 400},
		{"longest ID", `{"ID":"` + strings.Repeat("x", maxLockID) + `"}`, 200},
		{"longest body", `{"ID":"x"}` + strings.Repeat(" ", maxLockBody-10), 200},
		{"body too long", `{"ID":"x"}` + strings.Repeat(" ", maxLockBody-9), 413},
		{"long ID", `{"ID":"` + strings.Repeat("x", maxLockID+1) + `"}`, 400},
		{"junk of 2 MiB", strings.Repeat("x", 2<<20), 413},
	} {
		if _, err := ParseLockInfo([]byte(c.body)); status(err) != c.want {
			t.Errorf("%s: %v, want %d", c.name, err, c.want)
		}
	}
}

func TestLockInfoComesBackAsItWasSent(t *testing.T) {
	const sent = `{"ID":"a","Who":"<é> & co","Created":"2026-11-30T01:47:54.701841437Z","Future":{"x":[1,2.50,null]}}`
	info, err := ParseLockInfo([]byte(sent))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // through the head record and back
		data, err := encode(info)
		if err != nil || string(data) != sent {
			t.Fatalf("comes back as %s, %v; want %s", data, err, sent)
		}
		if err := json.Unmarshal(data, &info); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClip(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", maxField)} {
		if got := clip(s); got != s {
			t.Errorf("clip(%.10q) = %q", s, got)
		}
	}
	for _, s := range []string{strings.Repeat("x", maxField+1), strings.Repeat("é", 3000)} {
		if got := clip(s); len(got) > maxField || !strings.HasSuffix(got, "...") || !utf8.ValidString(got) {
			t.Errorf("clip(%.10q...) = %q, %d bytes", s, got, len(got))
		}
	}
}

// FuzzLockInfo: a body is refused with 4xx, or comes back with the same fields.
func FuzzLockInfo(f *testing.F) {
	for _, body := range []string{"", "{}", "[]", `{"ID":"a"}`, `{"ID":"a","id":"b"}`, `{"ID":"\u0000"}`, `{"ID":"a","Who":"\ud800"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		info, err := ParseLockInfo(body)
		if err != nil {
			if s := status(err); s < 400 || s > 499 {
				t.Errorf("error %v is no refusal", err)
			}
			return
		}
		data, err := encode(info)
		if err != nil {
			t.Fatalf("cannot be encoded: %v", err)
		}
		again, err := ParseLockInfo(data)
		if err != nil {
			t.Fatalf("%s is refused the second time: %v", data, err)
		}
		info.raw, again.raw = nil, nil
		one, _ := encode(info)
		two, _ := encode(again)
		if !bytes.Equal(one, two) {
			t.Errorf("%s became %s", one, two)
		}
	})
}
