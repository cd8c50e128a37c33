package runtime

import (
	"bytes"
	"encoding/json"
)

// dump takes a state out of a stream of text. A runtime that can save its state neither in the backend nor
// in a file prints it: as one line of its -json output (see Event.State), or else raw, as an indented
// document. The raw one holds every secret, so no line of it may reach a log.
type dump struct {
	text  func(line []byte) // gets the lines back when they were no state
	state func(document []byte)

	document []byte
	inside   bool
}

// take reports whether it keeps the line: from one that is just an opening brace to the one that closes it.
func (d *dump) take(line []byte) bool {
	if !d.inside && string(line) != "{" {
		return false
	}
	d.inside = true
	if len(d.document) < maxWhole {
		d.document = append(append(d.document, line...), '\n')
	}
	if string(line) == "}" {
		d.flush()
	}
	return true
}

// flush ends a document. Half a state, of a runtime that was killed while it printed, is no text either.
func (d *dump) flush() {
	document := d.document
	d.document, d.inside = nil, false
	switch {
	case len(document) == 0:
	case isState(document):
		d.state(document)
	case bytes.Contains(document, []byte(`"lineage":`)):
		d.text([]byte("(part of a state, not shown)"))
	default:
		for line := range bytes.Lines(document) {
			d.text(bytes.TrimSuffix(line, []byte("\n")))
		}
	}
}

// isState tells a state document, encrypted or not, from any other. The lineage of one that was never saved is empty.
func isState(document []byte) bool {
	if len(document) == 0 {
		return false
	}
	var fields struct {
		Version   int             `json:"version"`
		Lineage   *string         `json:"lineage"`
		Serial    *uint64         `json:"serial"`
		Encrypted json.RawMessage `json:"encrypted_data"`
	}
	if json.Unmarshal(document, &fields) != nil {
		return false
	}
	return fields.Encrypted != nil || fields.Version > 0 && fields.Lineage != nil && fields.Serial != nil
}
