// Package event names the events that a controller sends about an object, as values: nothing here sends them.
package event

import (
	"fmt"

	"github.com/captf/captf-runner/runner/result"
)

// Reason is an event's reason.
type Reason string

// The reasons. Those that a runner sends about its own run are in docs/runner.md.
const (
	// JobSucceeded: the books of a Job that succeeded are closed.
	JobSucceeded Reason = "JobSucceeded"
	// JobFailed: the books of a Job are closed that failed, or that a person has to look at.
	JobFailed Reason = "JobFailed"
	// JobInterrupted: the books of a Job are closed that something stopped; another attempt follows.
	JobInterrupted Reason = "JobInterrupted"
	// ForceUnlocked: a Job has got the ID of a lock whose holder is dead.
	ForceUnlocked Reason = "ForceUnlocked"
	// StateLocked: somebody holds the lock who is none of the object's Jobs.
	StateLocked Reason = "StateLocked"
	// OwnerReferencesRepaired: chunks that had lost their owner have it again.
	OwnerReferencesRepaired Reason = "OwnerReferencesRepaired"
	// StateBackedUp: a new serial has a backup.
	StateBackedUp Reason = "StateBackedUp"
	// StateBackupFailed: there is no backup of the state, so that nothing that changes it may start.
	StateBackupFailed Reason = "StateBackupFailed"
	// StateRescued: a run could not save its state where it belongs; a rescue set has it.
	StateRescued Reason = "StateRescued"
	// StateDeleted: the state was removed after a destroy.
	StateDeleted Reason = "StateDeleted"
)

// Types of an event, as the API has them.
const (
	Normal  = "Normal"
	Warning = "Warning"
)

// maxMessage is the limit of a message in bytes: the API server refuses more than 1024.
const maxMessage = 1024

// Event is what an event says.
type Event struct {
	Type    string // Normal or Warning
	Reason  Reason
	Message string // at most 1024 bytes of plain text
}

// New returns an event of a reason, with the type that belongs to it. A message that is too long is cut.
func New(reason Reason, format string, args ...any) Event {
	message := result.Cut(result.Plain(fmt.Sprintf(format, args...)), maxMessage)
	return Event{Type: reason.eventType(), Reason: reason, Message: message}
}

func (r Reason) eventType() string {
	switch r {
	case JobSucceeded, OwnerReferencesRepaired, StateBackedUp, StateDeleted:
		return Normal
	}
	return Warning
}
