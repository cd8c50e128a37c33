package state

import (
	"fmt"

	"github.com/captf/captf-runner/runner/result"
)

const (
	// ConditionType is the type of the condition that says whether a state can be read and trusted.
	ConditionType = "StateReadable"
	// MaxMessage is the limit of a condition's message in bytes: the API server refuses a longer one, and with it
	// the whole status.
	MaxMessage = 32768

	// reasonRead is the reason of a condition that is True.
	reasonRead = "StateRead"
)

// Condition is an object's StateReadable condition, as a value: a controller copies it into the type that it uses.
type Condition struct {
	Type    string // always ConditionType
	Status  string // True, False or Unknown
	Reason  string // a Reason, or StateRead
	Message string // plain text of at most MaxMessage bytes; a longer one ends with a mark
}

// Readable returns the condition that follows from err, the error of reading a state, of [Summary.CheckInputs] or of
// [LockedBy]. Nil is True. An error without a [Reason], such as one of the API server, is Unknown with the reason
// [Unavailable].
func Readable(err error) Condition {
	c := Condition{Type: ConditionType, Status: "True", Reason: reasonRead}
	if err == nil {
		return c
	}
	reason := ReasonOf(err)
	c.Status, c.Reason = reason.ConditionStatus(), string(reason)
	c.Message = result.Cut(result.Plain(err.Error()), MaxMessage)
	return c
}

// LockedBy returns the error, of reason [Locked], that somebody holds the state's lock who is none of the object's
// Jobs. holder says who, with the lock's ID, its operation and its time, as lock.Info prints them.
func LockedBy(holder string) error {
	return &Error{Reason: Locked, Err: fmt.Errorf("%s: wait for it, or make sure that it is dead and release the lock by its ID", holder)}
}

// CheckInputs returns an error of the reason [WithoutInputsHash] or [InputsChanged] unless the state was made from
// the inputs that have the hash today.
func (s *Summary) CheckInputs(today string) error {
	switch s.InputsHash {
	case "":
		return &Error{Reason: WithoutInputsHash, Err: fmt.Errorf("the state has no annotation %s: apply, to make it known", AnnotationInputsHash)}
	case today:
		return nil
	}
	return &Error{Reason: InputsChanged, Err: fmt.Errorf("the state was made from inputs %s, today's are %s: apply them", s.InputsHash, today)}
}
