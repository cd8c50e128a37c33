package plan

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// canonical writes v, a tree as encoding/json decodes it with UseNumber, in the one form that
// all equal trees share: keys sorted, numbers in one notation, no space.
func canonical(v any) ([]byte, error) {
	v, err := normalise(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v) // which sorts the keys of maps
}

// normalise returns v with every number in the notation of [number]. The tree itself is left as
// it is: it still belongs to the plan.
func normalise(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case int:
		return json.Number(strconv.Itoa(v)), nil
	case json.Number:
		return number(v)
	case []any:
		return normaliseList(v)
	case map[string]any:
		return normaliseMap(v)
	case float64:
		return nil, fmt.Errorf("number %v has lost its precision: decode the plan with UseJSONNumber(true)", v)
	}
	return nil, fmt.Errorf("%T is not a JSON value", v)
}

func normaliseList(list []any) (any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		n, err := normalise(e)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func normaliseMap(m map[string]any) (any, error) {
	out := make(map[string]any, len(m))
	for k, e := range m {
		n, err := normalise(e)
		if err != nil {
			return nil, err
		}
		out[k] = n
	}
	return out, nil
}

// number writes n without leading or trailing zeros and with an exponent: 1, 1.0 and 0.1e1 are
// all "1e0". It works on the text because a plan holds numbers that no float64 can, and because
// expanding an exponent could take all memory.
func number(n json.Number) (json.Number, error) {
	text, negative := strings.CutPrefix(n.String(), "-")
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:]) // which takes a plus sign
		if err != nil {
			return "", fmt.Errorf("number %s: exponent out of range", n)
		}
		mantissa, exponent = text[:i], e
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if trimmed == "" {
		return "0", nil
	}
	if negative {
		trimmed = "-" + trimmed
	}
	return json.Number(trimmed + "e" + strconv.Itoa(exponent)), nil
}

// prune reduces a mask (after_unknown, before_sensitive, after_sensitive) to the places that
// it marks, nil when there are none. The runtimes write "nothing is marked" in several ways:
// absent, false, {} and a tree of such leaves.
func prune(mask any) any {
	switch mask := mask.(type) {
	case bool:
		if mask {
			return true
		}
	case map[string]any:
		return pruneMap(mask)
	case []any:
		return pruneList(mask)
	}
	return nil
}

func pruneMap(mask map[string]any) any {
	out := make(map[string]any)
	for k, e := range mask {
		if e := prune(e); e != nil {
			out[k] = e
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// pruneList keeps the position of what is marked and drops the unmarked tail.
func pruneList(mask []any) any {
	out := make([]any, len(mask))
	end := 0
	for i, e := range mask {
		if out[i] = prune(e); out[i] != nil {
			end = i + 1
		}
	}
	if end == 0 {
		return nil
	}
	return out[:end]
}
