package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

var (
	// ErrEmpty is returned for a document without content: the runner never
	// started, or was killed before its first write.
	ErrEmpty = errors.New("result is empty: the runner wrote none")
	// ErrMalformed is returned for a document that is not a result: another
	// program wrote it, or it was cut.
	ErrMalformed = errors.New("result cannot be read")
)

// VersionError is returned for a document of another schema version.
type VersionError struct {
	// Version is what the document says, 0 if it says nothing.
	Version int
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("result has schema version %d, this program reads %d: use the captf release of the runner that wrote it", e.Version, Version)
}

// Decode reads a result. Fields that it does not know are passed over, values
// that it does not know are kept. The error is [ErrEmpty], [ErrMalformed] or a
// [*VersionError].
func Decode(doc []byte) (*Result, error) {
	if len(bytes.TrimSpace(doc)) == 0 {
		return nil, ErrEmpty
	}
	// The version comes first: another one may give a field another type.
	var head struct {
		Version int             `json:"version"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(doc, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if head.Version != Version {
		return nil, &VersionError{head.Version}
	}
	if head.Error == nil {
		// Every writer says null; silence must not read as success.
		return nil, fmt.Errorf("%w: it has no error key", ErrMalformed)
	}
	var r Result
	if err := json.Unmarshal(doc, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return &r, nil
}
