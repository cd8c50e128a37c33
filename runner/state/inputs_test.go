package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// The canonical JSON is written here by hand.
func TestInputsHash(t *testing.T) {
	in := Inputs{
		Contract: "v1", Role: "machine", Image: "registry.example/m:v1",
		Inputs:    map[string]any{"b": []any{1, true, nil}, "a": "<&> \u2028 ü \"\\\n\x01\x7f", "Ä": map[string]any{}},
		Variables: map[string]any{"ratio": json.Number("1.50")},
	}
	inputs := `{"contract":"v1","image":"registry.example/m:v1","inputs":{"a":"<&> ` + "\u2028 ü " + `\"\\\n\u0001` + "\x7f" + `","b":[1,true,null],"Ä":{}},"role":"machine","scheme":"h2"`
	wantHash(t, in, inputs+`,"variables":{"ratio":1.50}}`)
	in.Variables = nil
	wantHash(t, in, inputs+`}`)
}

func wantHash(t *testing.T, in Inputs, canonical string) {
	t.Helper()
	want := fmt.Sprintf("h2:%x", sha256.Sum256([]byte(canonical)))
	got, err := in.Hash()
	if err != nil || got != want {
		t.Errorf("got %s, %v, want %s, that of %s", got, err, want, canonical)
	}
}

func TestInputsHashTellsApart(t *testing.T) {
	base := Inputs{Contract: "v1", Role: "machine", Image: "i", Inputs: map[string]any{"a": 1}}
	variants := map[string]func(*Inputs){
		"base":            func(*Inputs) {},
		"contract":        func(in *Inputs) { in.Contract = "v2" },
		"role":            func(in *Inputs) { in.Role = "pool" },
		"image":           func(in *Inputs) { in.Image = "j" },
		"value":           func(in *Inputs) { in.Inputs = map[string]any{"a": 2} },
		"type":            func(in *Inputs) { in.Inputs = map[string]any{"a": "1"} },
		"key":             func(in *Inputs) { in.Inputs = map[string]any{"b": 1} },
		"no inputs":       func(in *Inputs) { in.Inputs = nil },
		"empty variables": func(in *Inputs) { in.Variables = map[string]any{} },
		"variables":       func(in *Inputs) { in.Variables = map[string]any{"a": 1} },
		"as written":      func(in *Inputs) { in.Variables = map[string]any{"a": json.Number("1.0")} },
	}
	seen := map[string]string{}
	for name, change := range variants {
		in := base
		change(&in)
		h, err := in.Hash()
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[h] = name
	}
}

func TestInputsHashRefuses(t *testing.T) {
	tests := map[string]struct {
		in   Inputs
		want string
	}{
		"fraction":      {Inputs{Inputs: map[string]any{"a": []any{1, map[string]any{"b": 1.5}}}}, "inputs.a[1].b is the number 1.5"},
		"second key":    {Inputs{Inputs: map[string]any{"a": 1, "b": 1.5}}, "inputs.b is the number 1.5"},
		"exponent":      {Inputs{Inputs: json.RawMessage(`{"a":1e3}`)}, "inputs.a is the number 1e3"},
		"minus zero":    {Inputs{Inputs: json.RawMessage(`[-0]`)}, "inputs[0] is the number -0"},
		"not JSON":      {Inputs{Inputs: json.RawMessage(`{`)}, "hash inputs:"},
		"bad variables": {Inputs{Variables: math.NaN()}, "hash variables:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.in.Hash()
			if err == nil || got != "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestCheckInputs(t *testing.T) {
	for _, tt := range []struct {
		carried, today string
		want           Reason
	}{
		{"h2:0", "h2:0", ""}, {"", "h2:0", WithoutInputsHash}, {"h2:1", "h2:0", InputsChanged}, {"", "", WithoutInputsHash},
	} {
		sum := &Summary{InputsHash: tt.carried}
		if got := ReasonOf(sum.CheckInputs(tt.today)); got != tt.want {
			t.Errorf("the state has %q, today is %q: %q, want %q", tt.carried, tt.today, got, tt.want)
		}
	}
}

// independent is canonical JSON made in another way: encoding/json sorts and
// escapes, and what it escapes beyond need is put back.
func independent(t *testing.T, doc []byte) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	var fixed []byte
	for len(out) > 0 {
		n := 1
		if out[0] == '\\' {
			n = 2
			if out[1] == 'u' {
				n = 6
			}
		}
		switch esc := string(out[:n]); esc {
		case `\u2028`, `\u2029`:
			fixed = append(fixed, map[string]string{`\u2028`: "\u2028", `\u2029`: "\u2029"}[esc]...)
		case `\u0008`:
			fixed = append(fixed, `\b`...)
		case `\u000c`:
			fixed = append(fixed, `\f`...)
		default:
			fixed = append(fixed, esc...)
		}
		out = out[n:]
	}
	return fixed
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":[true,false,null,"x"],"":{}}`, `{"z":{"y":{"x":[[],[{}]]}}}`, `"\u2028\u2029\b\f\n\r\t\\\"\/\u0000\u001f\u007f"`,
		`{"é":1,"e":2,"\ud83d\ude00":3,"\uffff":4}`, `[1,-1,0,12345678901234567890,1.50,1e3,-0]`, `"\ud800"`, `"<>&'"`, "\"\xff\"", `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if !json.Valid(doc) {
			return
		}
		v, err := tree(json.RawMessage(doc))
		if err != nil {
			t.Fatal(err)
		}
		got := appendCanonical(nil, v)
		if want := independent(t, doc); !bytes.Equal(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", doc, got, want)
		}
		again, err := tree(json.RawMessage(got))
		if err != nil || !bytes.Equal(appendCanonical(nil, again), got) {
			t.Errorf("%s is not canonical itself: %v", got, err)
		}
		if slices.Contains(got, '\n') {
			t.Errorf("%s has white space", got)
		}
	})
}
