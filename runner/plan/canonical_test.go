package plan

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumber(t *testing.T) {
	tests := []struct{ in, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.000", "0"}, {"0e5", "0"},
		{"1", "1e0"}, {"1.0", "1e0"}, {"1e0", "1e0"}, {"0.1e1", "1e0"}, {"10E-1", "1e0"},
		{"-12.50", "-125e-1"}, {"1e+3", "1e3"}, {"1000", "1e3"}, {"0.001", "1e-3"},
		{"18446744073709551617", "18446744073709551617e0"},
		{"1e1000000000", "1e1000000000"},
	}
	for _, tt := range tests {
		got, err := number(json.Number(tt.in))
		if err != nil || got.String() != tt.want {
			t.Errorf("%s: got %s, %v; want %s", tt.in, got, err, tt.want)
		}
	}
}

// FuzzNumber compares with exact arithmetic: the canonical text has the same value, and two
// numbers have one text exactly when they are equal.
func FuzzNumber(f *testing.F) {
	f.Add("1.0", "1")
	f.Add("-0.50e3", "-500")
	f.Add("12345678901234567890", "12345678901234567891")
	f.Fuzz(func(t *testing.T, a, b string) {
		ca, ra := canonicalRat(t, a)
		cb, rb := canonicalRat(t, b)
		if ra == nil || rb == nil {
			return
		}
		if (ca == cb) != (ra.Cmp(rb) == 0) {
			t.Errorf("%s is %s, %s is %s", a, ca, b, cb)
		}
	})
}

func canonicalRat(t *testing.T, s string) (string, *big.Rat) {
	if len(s) > 30 || !json.Valid([]byte(s)) {
		return "", nil
	}
	var n json.Number
	if json.Unmarshal([]byte(s), &n) != nil {
		return "", nil
	}
	want, ok := new(big.Rat).SetString(n.String())
	if !ok { // the exponent is too large for exact arithmetic
		return "", nil
	}
	c, err := number(n)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	if got, ok := new(big.Rat).SetString(c.String()); !ok || got.Cmp(want) != 0 || !json.Valid([]byte(c)) {
		t.Fatalf("%s became %s", s, c)
	}
	return c.String(), want
}

func TestPrune(t *testing.T) {
	tests := []struct {
		name     string
		in, want any
	}{
		{"nothing", nil, nil},
		{"false", false, nil},
		{"true", true, true},
		{"tree without marks", map[string]any{"a": []any{false, map[string]any{}}}, nil},
		{"marked leaf", map[string]any{"a": true, "b": false}, map[string]any{"a": true}},
		{"position is kept", []any{false, true, false}, []any{nil, true}},
		{"not a mask", "text", nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, prune(tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestCanonicalLeavesThePlanAsItIs(t *testing.T) {
	tree := map[string]any{"b": []any{json.Number("1.0")}, "a": "x"}
	got, err := canonical(tree)
	if want := `{"a":"x","b":[1e0]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if diff := cmp.Diff(map[string]any{"b": []any{json.Number("1.0")}, "a": "x"}, tree); diff != "" {
		t.Errorf("the input changed (-want +got):\n%s", diff)
	}
}

func TestCanonicalRefusesForeignTypes(t *testing.T) {
	for _, v := range []any{1.5, struct{}{}, []any{1.5}, map[string]any{"a": 1.5}} {
		if got, err := canonical(v); err == nil {
			t.Errorf("%v: got %s, want an error", v, got)
		}
	}
}
