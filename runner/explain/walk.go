package explain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/captf/captf-runner/runner/state"
)

const (
	formatVersion = 4
	modeManaged   = "managed"
	modeData      = "data"
)

// rawResource is an element of resources as it stands in the state.
type rawResource struct {
	Module    string        `json:"module"`
	Mode      string        `json:"mode"`
	Type      string        `json:"type"`
	Name      string        `json:"name"`
	Provider  string        `json:"provider"`
	Instances []rawInstance `json:"instances"`
}

type rawInstance struct {
	IndexKey            json.RawMessage `json:"index_key"`
	Status              string          `json:"status"`
	Deposed             string          `json:"deposed"`
	SchemaVersion       json.Number     `json:"schema_version"`
	Attributes          json.RawMessage `json:"attributes"`
	AttributesFlat      json.RawMessage `json:"attributes_flat"`
	SensitiveAttributes json.RawMessage `json:"sensitive_attributes"`
	Private             string          `json:"private"`
	Dependencies        []string        `json:"dependencies"`
	CreateBeforeDestroy bool            `json:"create_before_destroy"`
	Provider            string          `json:"provider"` // OpenTofu, where instances differ
}

type rawOutput struct {
	Value     json.RawMessage `json:"value"`
	Type      json.RawMessage `json:"type"`
	Sensitive bool            `json:"sensitive"`
}

type rawCheck struct {
	Kind   string `json:"object_kind"`
	Addr   string `json:"config_addr"`
	Status string `json:"status"`
}

// header is a state without resources and outputs.
type header struct {
	bytes      int64
	digest     string
	version    *int
	tool       string
	serial     uint64
	lineage    string
	encryption *Encryption
	checks     []rawCheck
}

// visitor gets the parts of a state while they are read.
type visitor struct {
	resource func(rawResource) error
	output   func(name string, o rawOutput)
	header   header
}

// walk reads a state. The error is a *state.Error with the reason Corrupt, or that of r or of a visit.
func (v *visitor) walk(r io.Reader) error { return v.walkUpTo(r, state.MaxSize) }

// walkUpTo is walk with another limit, in bytes.
func (v *visitor) walkUpTo(r io.Reader, limit int64) error {
	in := &input{r: r, hash: sha256.New(), limit: limit}
	dec := json.NewDecoder(in)
	if err := v.document(dec); err != nil {
		return reason(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		if err == nil {
			err = errors.New("there is something behind the document")
		}
		return reason(err)
	}
	v.header.bytes, v.header.digest = in.n, "sha256:"+hex.EncodeToString(in.hash.Sum(nil))
	return v.header.check()
}

func (v *visitor) document(dec *json.Decoder) error {
	return members(dec, func(key string) error {
		h := &v.header
		switch key {
		case "version":
			return dec.Decode(&h.version)
		case "serial":
			return dec.Decode(&h.serial)
		case "lineage":
			return dec.Decode(&h.lineage)
		case "terraform_version":
			return dec.Decode(&h.tool)
		case "encryption_version":
			h.encrypted()
			return dec.Decode(&h.encryption.Version)
		case "meta":
			return h.keyProviders(dec)
		case "check_results":
			return dec.Decode(&h.checks)
		case "outputs":
			return v.outputs(dec)
		case "resources":
			return v.resources(dec)
		}
		return skip(dec)
	})
}

func (v *visitor) outputs(dec *json.Decoder) error {
	return members(dec, func(name string) error {
		var o rawOutput
		err := dec.Decode(&o)
		if err == nil {
			v.output(name, o)
		}
		return err
	})
}

func (v *visitor) resources(dec *json.Decoder) error {
	return container(dec, '[', func() error {
		var r rawResource
		if err := dec.Decode(&r); err != nil {
			return err
		}
		return v.resource(r)
	})
}

func (h *header) encrypted() {
	if h.encryption == nil {
		h.encryption = &Encryption{}
	}
}

// check refuses what is no state of the known version.
func (h *header) check() error {
	switch {
	case h.encryption != nil && h.encryption.Version != "":
		return nil
	case h.version == nil:
		return corrupt("it has no version: it is not a state")
	case *h.version != formatVersion:
		return corrupt("it has version %d, this program reads %d", *h.version, formatVersion)
	}
	h.encryption = nil // a "meta" that is none of an envelope
	return nil
}

// keyProviders takes the names below meta, and leaves what is kept for each.
func (h *header) keyProviders(dec *json.Decoder) error {
	return members(dec, func(name string) error {
		h.encrypted()
		h.encryption.KeyProviders = append(h.encryption.KeyProviders, name)
		return skip(dec)
	})
}

// members reads an object, or null. It calls member for each key, which reads the value.
func members(dec *json.Decoder, member func(key string) error) error {
	return container(dec, '{', func() error {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		return member(token.(string)) // the decoder knows that it is a key
	})
}

// container reads what an opening bracket opens, or null.
func container(dec *json.Decoder, opening json.Delim, element func() error) error {
	token, err := dec.Token()
	if err != nil || token == nil {
		return err
	}
	if token != opening {
		return fmt.Errorf("want %s before byte %d", opening, dec.InputOffset())
	}
	for dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

func skip(dec *json.Decoder) error {
	var ignored json.RawMessage
	return dec.Decode(&ignored)
}

// decode reads JSON with its numbers as they are written.
func decode(text json.RawMessage, target any) error {
	if len(text) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(target)
}

// input counts and digests what is read, up to the limit.
type input struct {
	r     io.Reader
	hash  hash.Hash
	n     int64
	limit int64
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	if in.n == 0 && n > 0 && p[0] == gzipStart {
		return 0, readError{corrupt("it is gzip: decompress it first, as with gunzip")}
	}
	in.hash.Write(p[:n])
	if in.n += int64(n); in.n > in.limit {
		return 0, readError{corrupt("it has more than %d bytes", in.limit)}
	}
	if err != nil && err != io.EOF {
		err = readError{err}
	}
	return n, err
}

// gzipStart is the first byte of gzip, which no JSON begins with.
const gzipStart = 0x1f

// readError is an error of the reader, not of what was read.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// reason makes everything but the reader's own errors Corrupt.
func reason(err error) error {
	var read readError
	var typed *state.Error
	switch {
	case errors.As(err, &read):
		return read.error
	case errors.As(err, &typed):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return corrupt("it is not JSON: it ends in the middle")
	}
	return corrupt("it is not a state: %w", err)
}

func corrupt(format string, args ...any) error {
	return &state.Error{Reason: state.Corrupt, Err: fmt.Errorf(format, args...)}
}
