package statesrv

import (
	"bytes"
	"encoding/json"
	"iter"
)

// span is where a value is in a document.
type span struct{ from, to int }

// fields yields the names and places of an object's own fields. data has to be a
// valid JSON object. It looks at each byte once and keeps none, so that a large
// state costs little more than its validation.
func fields(data []byte) iter.Seq2[string, span] {
	return func(yield func(string, span) bool) {
		i := skipSpace(data, 0) + 1 // behind the opening brace
		for {
			if i = skipSpace(data, i); data[i] == '}' {
				return
			}
			if data[i] == ',' {
				i = skipSpace(data, i+1)
			}
			end := skipValue(data, i)
			name := unquote(data[i:end])
			i = skipSpace(data, end) + 1 // behind the colon
			i = skipSpace(data, i)
			end = skipValue(data, i)
			if !yield(name, span{i, end}) {
				return
			}
			i = end
		}
	}
}

func unquote(quoted []byte) string {
	var s string
	_ = json.Unmarshal(quoted, &s) // it is valid
	return s
}

func skipSpace(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n' {
		i++
	}
	return i
}

// skipValue returns the index behind the value that starts at i.
func skipValue(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		return skipNested(data, i)
	}
	return i + bytes.IndexAny(data[i:], ",}] \t\r\n")
}

func skipString(data []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(data[i:], '"')
		before := i
		for data[before-1] == '\\' {
			before--
		}
		if (i-before)%2 == 0 { // the quote is not escaped
			return i + 1
		}
	}
}

func skipNested(data []byte, i int) int {
	for depth := 0; ; {
		switch data[i] {
		case '"':
			i = skipString(data, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}
