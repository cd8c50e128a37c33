package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// tree returns v as encoding/json would read what it writes for v, with numbers
// as text.
func tree(v any) (any, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var t any
	err = dec.Decode(&t) // not in the return: whether t is read before or after the call is up to the compiler
	return t, err
}

// onlyIntegers reports the first number in a tree that is not written as an
// integer. path names where the tree is.
func onlyIntegers(path string, t any) error {
	switch t := t.(type) {
	case json.Number:
		if strings.ContainsAny(t.String(), ".eE") || t == "-0" {
			return fmt.Errorf("%s is the number %s: only integers have one form, so write it as a string", path, t)
		}
	case []any:
		for i, v := range t {
			if err := onlyIntegers(path+"["+strconv.Itoa(i)+"]", v); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(t)) {
			if err := onlyIntegers(path+"."+k, t[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendCanonical appends the canonical JSON of a tree. It does not leave the
// strings to encoding/json: its escapes differ between releases of Go, and a
// hash that changes on an upgrade would re-apply every object.
func appendCanonical(b []byte, t any) []byte {
	switch t := t.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, t)
	case json.Number:
		return append(b, t...)
	case string:
		return appendString(b, t)
	case []any:
		b = append(b, '[')
		for i, v := range t {
			b = appendCanonical(appendComma(b, i), v)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(t)) {
			b = append(appendString(appendComma(b, i), k), ':')
			b = appendCanonical(b, t[k])
		}
		return append(b, '}')
	}
	return b // tree makes no other type
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

// appendString escapes what JSON says must be, and nothing else.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range []byte(s) {
		if short := strings.IndexByte("\b\t\n\f\r\"\\", c); short >= 0 {
			b = append(b, '\\', `btnfr"\`[short])
		} else if c < ' ' {
			b = fmt.Appendf(b, `\u%04x`, c)
		} else {
			b = append(b, c)
		}
	}
	return append(b, '"')
}
