package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// oracle summarises a state by other means: encoding/json and maps, in which a
// key counts only if it is exactly the one. It returns nil for a bad state.
func oracle(doc []byte) *Summary {
	var top map[string]json.RawMessage
	if json.Unmarshal(doc, &top) != nil || top == nil {
		return nil
	}
	var version *uint64
	var outputs map[string]map[string]json.RawMessage
	var resources []map[string]json.RawMessage
	sum := &Summary{Size: int64(len(doc))}
	for key, target := range map[string]any{
		"version": &version, "serial": &sum.Serial, "lineage": &sum.Lineage, "terraform_version": &sum.TerraformVersion,
		"outputs": &outputs, "resources": &resources,
	} {
		if raw, ok := top[key]; ok && json.Unmarshal(raw, target) != nil {
			return nil
		}
	}
	if _, ok := top["outputs"]; ok {
		sum.Outputs = map[string]Output{}
	}
	for name, o := range outputs {
		out := Output{Value: o["value"], Type: o["type"]}
		if raw, ok := o["sensitive"]; ok && json.Unmarshal(raw, &out.Sensitive) != nil {
			return nil
		}
		sum.Outputs[name] = out
	}
	for _, r := range resources {
		if string(r["mode"]) == `"managed"` {
			sum.Resources++
		}
	}
	if _, ok := top["encryption_version"]; ok {
		sum.Outputs, sum.Resources = nil, 0
		return sum
	}
	if version == nil || *version != 4 {
		return nil
	}
	return sum
}

// check compares the reader with the oracle, for a whole window and for one of
// a few bytes that is filled byte by byte.
func check(t *testing.T, doc []byte) {
	t.Helper()
	want := oracle(doc)
	for _, s := range []*scanner{
		newScanner(bytes.NewReader(doc), windowSize),
		newScanner(bytes.NewReader(doc), 100),
		newScanner(iotest.OneByteReader(bytes.NewReader(doc)), 3),
	} {
		got, err := summarise(s)
		if err != nil && !errors.Is(err, Corrupt) && !errors.Is(err, Encrypted) {
			t.Fatalf("%q: %v has no reason", doc, err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%q with a window of %d: %v\n(-oracle +got)\n%s", doc, len(s.buf), err, cmp.Diff(want, got))
		}
	}
}

// Each text is read as the value of a key that is skipped.
func TestGrammar(t *testing.T) {
	for _, value := range []string{
		`0`, `-0`, `12`, `-1.50`, `1e5`, `1E+5`, `1.0e-10`, `"a"`, `""`, `"\"\\\/\b\f\n\r\t\u00e9\uD83D\uaAfF"`, `true`, `false`, `null`,
		`[]`, `{}`, `[[],{},[{}]]`, ` [ 1 , "a" , { "b" : [ ] } ] `, "\t{\r\n\"a\":\n1}\n", `{"a":{"b":{"c":[[[1]]]}}}`, "\"\x7f\u0080\"",
		`"` + strings.Repeat("x", 300) + `\n"`, `[` + strings.Repeat(`1,`, 300) + `1]`, strings.Repeat("[", 200) + strings.Repeat("]", 200),
		strings.Repeat(`[{"a":`, 100) + "1" + strings.Repeat("}]", 100),

		``, `-`, `+1`, `.5`, `1.`, `01`, `1e`, `1e+`, `--1`, `0x1`, `1 2`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "\"\x00\"", "\"\x1f\"",
		`tru`, `True`, `truee`, `nul`, `fals`, `[`, `]`, `[1`, `[1,]`, `[,1]`, `[1 2]`, `[1}`, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`,
		`{"a":1]`, `{a:1}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `[[]`, `[]]`, `{"a":[}]`, "\v1", "\u00a01", "1\x00", `'a'`, `[1,2]3`, `{"a":1}{`,
	} {
		check(t, []byte(`{"version":4,"x":`+value+`,"serial":3}`))
		check(t, []byte(`{"version":4,"x":`+value))
		check(t, []byte(`{"version":4,"outputs":{"o":{"value":`+value+`}}}`))
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) *strings.Reader {
		return strings.NewReader(`{"version":4,"x":` + strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2) + `}`)
	}
	if _, err := ReadJSON(nested(maxDepth)); err != nil {
		t.Error(err)
	}
	_, err := ReadJSON(nested(maxDepth + 2))
	wantReason(t, err, Corrupt, "")
	if !strings.Contains(err.Error(), "nested deeper than 10000") {
		t.Errorf("got %v", err)
	}
}

// The shape of a text that repeats is compared and not read. So states are made
// that repeat themselves, and then one byte is changed, or a piece is lost or is
// there twice: whatever that does to the JSON, reader and oracle agree.
func TestDamagedStates(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 1500 {
		doc := repeating(rnd)
		check(t, doc)
		i := rnd.IntN(len(doc))
		j := min(len(doc), i+1+rnd.IntN(40))
		switch rnd.IntN(3) {
		case 0:
			doc[i] = "{}[]\",:\\ \n1atnf-.e\x00"[rnd.IntN(19)]
		case 1:
			doc = append(doc[:i:i], doc[j:]...)
		case 2:
			doc = append(doc[:j:j], doc[i:]...)
		}
		if !repeatsKey(doc) {
			check(t, doc)
		}
	}
}

// repeating returns a state whose resources are much alike.
func repeating(rnd *rand.Rand) []byte {
	values := []string{`1`, `"a"`, `"b c"`, `true`, `null`, `[]`, `{}`, `[1,2]`, `[{"k":1},{"k":"x"}]`, `{"k":[true]}`, `"\""`, `[[[0]]]`, `-1.5e3`}
	members := make([]string, 1+rnd.IntN(5))
	for i := range members {
		members[i] = fmt.Sprintf("\n      \"m%d\": ", i)
	}
	var b bytes.Buffer
	b.WriteString("{\n  \"version\": 4,\n  \"serial\": 2,\n  \"resources\": [")
	for i := range 2 + rnd.IntN(5) {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n    {\n      \"mode\": \"managed\",\n      \"instances\": [{")
		for k, m := range members {
			if k > 0 {
				b.WriteString(",")
			}
			b.WriteString(m + values[(k+rnd.IntN(2))%len(values)])
		}
		b.WriteString("\n      }]\n    }")
	}
	b.WriteString("\n  ],\n  \"x\": " + values[rnd.IntN(len(values))] + "\n}\n")
	return b.Bytes()
}

// repeatsKey reports whether a key that the reader knows is in the text more
// often than there are places for it. The oracle never looks at the first of
// two, the reader does, and refuses a value of the wrong type.
func repeatsKey(doc []byte) bool {
	for _, key := range []string{"version", "serial", "lineage", "outputs", "value", "type", "sensitive", "resources"} {
		if bytes.Count(doc, []byte(`"`+key+`"`)) > 1 {
			return true
		}
	}
	return bytes.Contains(doc, []byte(`\u`)) // a key may be written so
}

// Text that is expected, and there, but goes on: what is compared must end where
// the scalar begins.
func TestGlueThatGoesOn(t *testing.T) {
	for _, instances := range []string{
		`[{"a":1,"b":2},{"a":1,"b":[2]},{"a":1,"b":{"c":2}},{"a":1,"b": 2},{"a":1,"b":[]}]`,
		`[{"a":[1]},{"a":[1]},{"a":[[1]]},{"a":[1]}]`,
		`[[1],[1],[1]],[1]`, `[{"a":1},{"a":1},["a",1]]`, `[{"a":1},{"a":1},{"a",1}]`, `[[1,2],[1,2],{1,2}]`, `[{"a":1},{"a":1}}]`,
	} {
		check(t, []byte(`{"version":4,"resources":[{"instances":`+instances+`},{"instances":`+instances+`}]}`))
	}
}

// Places that are alike for more levels than a shape can tell may still differ
// further out, and a text that leads from few levels to many, or back, must keep
// the levels in between.
func TestGlueDeeperThanAShape(t *testing.T) {
	for n := 60; n < 70; n++ {
		in, out := strings.Repeat("[", n), strings.Repeat("]", n)
		for _, deep := range []string{in + "1" + out, in + "1,2" + out} {
			x := `{"version":4,"x":[` + deep + `,1,` + deep + `,1,` + deep + `,1,` + strings.ReplaceAll(deep, "1", "1 ") + `],"x2":[` + deep + `],"x3":[` + deep + `],"y":`
			check(t, []byte(x+`{"a":`+deep+`,"b":`+deep+`}}`))
			check(t, []byte(x+`{"a":`+deep+`,`+deep+`}}`))
			check(t, []byte(x+`{"a":`+deep+`]}`))
			check(t, []byte(x+`[`+deep+`,`+deep+`}}`))
		}
	}
}

func TestEscapedKeys(t *testing.T) {
	check(t, []byte(`{"v\u0065rsion":4,"outputs":{"a\"b":{"v\u0061lue":1},"\u00fc":{}},"resourc\u0065s":[{"mod\u0065":"managed"}]}`))
	check(t, []byte(`{"version":4,"encryption\u005fversion":"v0"}`))
}

// The last of two keys counts, and nothing of the first is left.
func TestRepeatedKeys(t *testing.T) {
	got, err := ReadJSON(strings.NewReader(`{"version":3,"serial":1,"lineage":"a","terraform_version":"1","outputs":{"a":{}},"resources":[{"mode":"managed"}],
		"version":4,"serial":null,"lineage":null,"terraform_version":null,"outputs":{"b":{"value":1,"sensitive":true,"value":2,"sensitive":null}},"resources":[{"mode":"managed","mode":"data"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Summary{Outputs: map[string]Output{"b": {Value: []byte("2")}}, Size: got.Size}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEightBytes(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			b := bytes.Repeat([]byte("~"), 24)
			b[at] = byte(c)
			want := len(b)
			if c < ' ' || c == '"' || c == '\\' {
				want = at
			}
			if got := plainLen(b); got != want {
				t.Fatalf("plainLen with %#x at %d = %d, want %d", c, at, got, want)
			}
			b = bytes.Repeat([]byte(" "), 24)
			b[0], b[at] = '\n', byte(c)
			want = at
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				want = len(b)
			}
			if got := spaceLen(b); got != want {
				t.Fatalf("spaceLen with %#x at %d = %d, want %d", c, at, got, want)
			}
		}
	}
}

func FuzzReadJSON(f *testing.F) {
	for _, name := range []string{"tofu.json", "terraform.json", "tofu-encrypted.json"} {
		f.Add(testdata(f, name))
	}
	f.Add(repeating(rand.New(rand.NewPCG(1, 1))))
	f.Add([]byte(`{"version":4,"serial":18446744073709551615,"outputs":{"a":{"value":{"b":[1,2]},"type":"x","sensitive":true}},"resources":[{"mode":"data"},{"mode":"managed"}]}`))
	f.Add([]byte(`{"version":4,"resources":[{"a":[{"b":1},{"b":1},{"b":[1]}]},{"a":[{"b":1}]}]}`))
	f.Add([]byte(`{"version":4,"version":null,"outputs":null,"\u0076":"\ud800"}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if utf8.Valid(doc) && !repeatsKey(doc) {
			check(t, doc)
		}
	})
}

// Whatever bytes are in the Secrets: a summary or a typed error.
func FuzzRead(f *testing.F) {
	good := gz(testdata(f, "tofu.json"))
	f.Add(good, []byte{}, "x")
	f.Add(good[:100], good[100:], base+"-part-1")
	f.Add(good, []byte("left behind"), base+"-part-1")
	f.Add([]byte{0x1f, 0x8b}, []byte(nil), base)
	f.Fuzz(func(t *testing.T, first, second []byte, name string) {
		s := Source{Suffix: testSuffix, Chunks: []Chunk{{Name: base, Data: first}, {Name: name, Data: second}}}
		sum, err := s.Read()
		var e *Error
		switch {
		case err == nil && (sum == nil || name != base+"-part-1"):
			t.Errorf("%q: %v and no error", name, sum)
		case err != nil && !errors.As(err, &e):
			t.Errorf("%v has no reason", err)
		case err != nil && e.Reason != Encrypted && sum != nil:
			t.Errorf("%v with a summary", err)
		}
	})
}
