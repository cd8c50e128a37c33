package statesrv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
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
	version   *uint64
	serial    *uint64
	lineage   *string
	encrypted bool
}

// ParseDocument reads a state: a JSON object that is either a state of version 4
// with serial and lineage, or an encrypted one. It returns a Refusal with status
// 400 for anything else, so an arbitrary document is never stored as a state.
func ParseDocument(body []byte) (Document, error) {
	s, err := shapeOf(body)
	switch {
	case err != nil:
		return Document{}, err
	case s.lineage != nil && len(*s.lineage) > maxLineage:
		return Document{}, badRequest(fmt.Sprintf("the state's lineage is longer than %d bytes", maxLineage))
	case s.encrypted:
		return s.opaque(), nil
	}
	return s.plain()
}

func shapeOf(body []byte) (s shape, err error) {
	valid := scan(body, func(name string, at span) {
		if bad := s.take(name, body[at.from:at.to]); bad != nil && err == nil {
			err = badRequest(fmt.Sprintf("the body is not a state: its %s: %v", name, bad))
		}
	})
	switch {
	case len(body) == 0:
		return s, badRequest("the body is empty: an empty state is never stored")
	case !valid:
		return s, badRequest("the body is not a state: " + syntaxError(body))
	case bytes.TrimSpace(body)[0] != '{':
		return s, badRequest("the body is not a state: it is no JSON object")
	}
	return s, err
}

// take reads a field by the clients' own rules: upper and lower case are the same,
// and the last one counts.
func (s *shape) take(name string, value []byte) error {
	switch {
	case strings.EqualFold(name, "version"):
		return json.Unmarshal(value, &s.version)
	case strings.EqualFold(name, "serial"):
		return json.Unmarshal(value, &s.serial)
	case strings.EqualFold(name, "lineage"):
		return json.Unmarshal(value, &s.lineage)
	case strings.EqualFold(name, "encrypted_data"):
		s.encrypted = true
	}
	return nil
}

func syntaxError(body []byte) string {
	var v struct{}
	return fmt.Sprint(json.Unmarshal(body, &v))
}

// opaque is ordered only by an envelope that shows both serial and lineage.
func (s shape) opaque() Document {
	d := Document{Opaque: true}
	if s.serial != nil && s.lineage != nil && *s.lineage != "" {
		d.Serial, d.Lineage = *s.serial, *s.lineage
	}
	return d
}

func (s shape) plain() (Document, error) {
	switch {
	case s.version == nil:
		return Document{}, badRequest("the body is not a state: it has no version")
	case *s.version != 4:
		return Document{}, badRequest(fmt.Sprintf("the body is a state of version %d; only version 4 is stored", *s.version))
	case s.serial == nil:
		return Document{}, badRequest("the body is not a state: it has no serial")
	case s.lineage == nil || *s.lineage == "":
		return Document{}, badRequest("the body is not a state: it has no lineage")
	}
	return Document{Serial: *s.serial, Lineage: *s.lineage}, nil
}

// digestOf names bytes by their content.
func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return digestText(sum[:])
}

// digestText is how a version's entry has a digest.
func digestText(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }
