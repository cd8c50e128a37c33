package statesrv

import (
	"encoding/json"
	"iter"
	"slices"
)

// series is a list of records that never change and only become more, each with its
// JSON. A head has the same ones in many writes: encoding them again would be most of
// what it costs.
type series[T any] []member[T]

type member[T any] struct {
	value *T
	line  []byte // nil if it was not encoded since it was read
}

// with returns the series and one more record, and leaves s as it is.
func (s series[T]) with(value T) (series[T], error) {
	line, err := encode(value)
	return append(slices.Clip(s), member[T]{&value, line}), err
}

// values yields the records, oldest first.
func (s series[T]) values() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, m := range s {
			if !yield(*m.value) {
				return
			}
		}
	}
}

// backward yields the records, newest first.
func (s series[T]) backward() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, m := range slices.Backward(s) {
			if !yield(*m.value) {
				return
			}
		}
	}
}

// appendTo adds the series to b as a JSON array. What is not encoded yet is kept encoded,
// so nobody else may have s at that moment, unless it was encoded before.
func (s series[T]) appendTo(b []byte) ([]byte, error) {
	size := len("[]")
	for i := range s {
		if s[i].line == nil {
			line, err := encode(s[i].value)
			if err != nil {
				return nil, err
			}
			s[i].line = line
		}
		size += len(s[i].line) + len(",")
	}
	b = append(slices.Grow(b, size), '[')
	for i, m := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.line...)
	}
	return append(b, ']'), nil
}

// encodedAs reports whether both have the same JSON, after both were encoded.
func (s series[T]) encodedAs(other series[T]) bool {
	return slices.EqualFunc(s, other, func(a, b member[T]) bool { return string(a.line) == string(b.line) })
}

// UnmarshalJSON reads an array, or null.
func (s *series[T]) UnmarshalJSON(data []byte) error {
	var values []*T
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*s = nil
	for _, v := range values {
		if v != nil {
			*s = append(*s, member[T]{value: v})
		}
	}
	return nil
}
