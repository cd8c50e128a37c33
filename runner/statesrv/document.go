package statesrv

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

const maxLineage = 256

// Document is what the server has to know of a state's bytes.
type Document struct {
	// Serial counts the writes of one lineage.
	Serial uint64
	// Lineage tells unrelated states apart. It is empty only for an opaque state
	// whose envelope does not show it; such a state has no order.
	Lineage string
	// Opaque says that the state is encrypted by the client.
	Opaque bool
}

// shape has the top-level fields that are looked at; the rest is only scanned.
type shape struct {
	Version   *json.Number `json:"version"`
	Serial    *uint64      `json:"serial"`
	Lineage   *string      `json:"lineage"`
	Encrypted present      `json:"encrypted_data"`
}

// present is true when the field is there; its value is not kept.
type present bool

func (p *present) UnmarshalJSON([]byte) error { *p = true; return nil }

// ParseDocument reads a state: a JSON object that is either a state of version 4
// with serial and lineage, or an encrypted one. It returns a Refusal with status
// 400 for anything else, so an arbitrary document is never stored as a state.
func ParseDocument(body []byte) (Document, error) {
	if len(body) == 0 {
		return Document{}, badRequest("the body is empty: an empty state is never stored")
	}
	var s shape
	if err := json.Unmarshal(body, &s); err != nil {
		return Document{}, badRequest(fmt.Sprintf("the body is not a state: %v", err))
	}
	if s.Lineage != nil && len(*s.Lineage) > maxLineage {
		return Document{}, badRequest(fmt.Sprintf("the state's lineage is longer than %d bytes", maxLineage))
	}
	if s.Encrypted {
		return s.opaque(), nil
	}
	return s.plain()
}

// opaque is ordered only by an envelope that shows both serial and lineage.
func (s shape) opaque() Document {
	d := Document{Opaque: true}
	if s.Serial != nil && s.Lineage != nil && *s.Lineage != "" {
		d.Serial, d.Lineage = *s.Serial, *s.Lineage
	}
	return d
}

func (s shape) plain() (Document, error) {
	switch {
	case s.Version == nil:
		return Document{}, badRequest("the body is not a state: it has no version")
	case *s.Version != "4":
		return Document{}, badRequest(fmt.Sprintf("the body is a state of version %.16s; only version 4 is stored", *s.Version))
	case s.Serial == nil:
		return Document{}, badRequest("the body is not a state: it has no serial")
	case s.Lineage == nil || *s.Lineage == "":
		return Document{}, badRequest("the body is not a state: it has no lineage")
	}
	return Document{Serial: *s.Serial, Lineage: *s.Lineage}, nil
}

// digestOf names bytes by their content.
func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}
