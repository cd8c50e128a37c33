package statesrv

import (
	"encoding/json"
	"strings"
	"testing"
)

var documents = []string{
	``, ` `, `{}`, `[]`, `{"a":1}`, ` { "a" : [ 1 , 2.5e-3 , -0 , 0.1E+9 , true , false , null , "x" ] } `,
	`{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{a:1}`, `[1 2]`, `{"a":1 "b":2}`, `[1]]`, `{}{}`,
	`01`, `-`, `1.`, `.1`, `1e`, `1e+`, `+1`, `--1`, `0x1`, `1.5.5`, `NaN`, `tru`, `nulL`, `truefalse`,
	`"`, `"a`, `"\"`, `"\\"`, `"\u12"`, `"\u12g4"`, `"\u12aF"`, `"\x"`, "\"\n\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\xfe\"", "\"\x00\"",
	`"0123456789 long enough for eight at a time \" and on \\ 01234567"`, "\"0123456\t\"", "\"01234567\x01\"", "\x00", "{}\x00",
	"\t{\r\n\"a\":\t[\r\n1]}\n", `{"a":1,"b":2}`, `{"a":[1}`, `[{"a":1]`, `{x":1}`, `[100,1.05e10]`, `{1:2}`, `{'a':1}`, `[{]`, `tr`, `t`, `" "`, `"\u09aA"`, `"\ufF00"`, `"\u00/0"`, `"\u00:0"`, `"\u00@0"`, `"\u00G0"`,
	"\"\\u00`0\"", `"\u00g0"`, "\v1", "{\f}",
	strings.Repeat("[", 9_999) + `{}` + strings.Repeat("]", 9_999), strings.Repeat("[", 10_000) + `{}` + strings.Repeat("]", 10_000),
	strings.Repeat("[", 9_999) + `{"a":1}` + strings.Repeat("]", 9_999), strings.Repeat("[", 10_000) + `{"a":1}` + strings.Repeat("]", 10_000),
	strings.Repeat("[", 9_999) + `[1]` + strings.Repeat("]", 9_999), strings.Repeat("[", 10_000) + `[1]` + strings.Repeat("]", 10_000),
	`"` + strings.Repeat("é", 100) + `"`, strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), strings.Repeat(`{"a":`, 10_001) + `1` + strings.Repeat("}", 10_001),
}

func TestScanSaysWhatTheLibrarySays(t *testing.T) {
	for _, d := range documents {
		sameAsLibrary(t, []byte(d))
	}
}

func sameAsLibrary(t *testing.T, data []byte) {
	t.Helper()
	got := scan(data, func(string, span) {})
	if want := json.Valid(data); got != want {
		t.Errorf("%.60q: valid %v, want %v", data, got, want)
	}
}

func FuzzScan(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsLibrary(t, data) })
}
