package state

import (
	"errors"
	"fmt"
)

// Reason is why a state cannot be read or trusted: the reason of the
// StateReadable condition. It is an error, so that errors.Is(err,
// state.NotFound) tells reasons apart.
type Reason string

// The reasons.
const (
	// NotFound: there is no Secret, and the object may never have applied.
	NotFound Reason = "StateNotFound"
	// Lost: there is no Secret although the object has applied.
	Lost Reason = "StateLost"
	// Inconsistent: the Secrets are not the chunks of one state.
	Inconsistent Reason = "StateInconsistent"
	// Corrupt: the bytes are not a state of version 4, or too many.
	Corrupt Reason = "StateCorrupt"
	// Encrypted: OpenTofu encrypted the state.
	Encrypted Reason = "StateEncrypted"
	// WithoutInputsHash: the state does not say which inputs it was made from.
	WithoutInputsHash Reason = "StateWithoutInputsHash"
	// InputsChanged: the state was made from other inputs than today's.
	InputsChanged Reason = "InputsChanged"
	// Locked: somebody holds the lock who is none of the object's Jobs.
	Locked Reason = "StateLocked"
	// Mislabelled: a Secret of the state lacks a label that the backend finds it by, so that a runtime would not see
	// it and begin with an empty state.
	Mislabelled Reason = "StateMislabelled"
	// Unavailable: the API server could not be asked.
	Unavailable Reason = "StateUnavailable"
)

// Error implements error.
func (r Reason) Error() string { return string(r) }

// ConditionStatus returns the status of the StateReadable condition for a state
// that failed to be read for the reason: Unknown while nothing says that there
// should be a state, or nothing could be asked, else False.
func (r Reason) ConditionStatus() string {
	if r == NotFound || r == Unavailable {
		return "Unknown"
	}
	return "False"
}

// Error says why a state cannot be read. errors.Is finds its Reason, errors.As
// the error itself.
type Error struct {
	Reason Reason
	// Secret is the Secret at fault, empty when it is the state as a whole.
	Secret string
	Err    error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Secret == "" {
		return fmt.Sprintf("%s: %v", e.Reason, e.Err)
	}
	return fmt.Sprintf("%s: secret %s: %v", e.Reason, e.Secret, e.Err)
}

// ReasonOf returns the reason of an error: [Unavailable] if it has none, as one of the API server, and empty for nil.
func ReasonOf(err error) Reason {
	if err == nil {
		return ""
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return Unavailable
}

// Unwrap returns the reason and the cause.
func (e *Error) Unwrap() []error { return []error{e.Reason, e.Err} }

func inconsistent(secret, format string, args ...any) error {
	return &Error{Reason: Inconsistent, Secret: secret, Err: fmt.Errorf(format, args...)}
}

func corrupt(format string, args ...any) error {
	return &Error{Reason: Corrupt, Err: fmt.Errorf(format, args...)}
}
