package statesrv

import (
	"crypto/rand"
	"time"
)

// Action is what a caller wanted to do.
type Action string

// The actions that are recorded as events. Reading is not.
const (
	ActionLock        Action = "lock"
	ActionUnlock      Action = "unlock"
	ActionForceUnlock Action = "force-unlock"
	ActionWrite       Action = "write"
	ActionDelete      Action = "delete"
	ActionRestore     Action = "restore"
	ActionPrune       Action = "prune"
)

// Caller is who sent a request, as far as the server can tell.
type Caller struct {
	User  string `json:"user,omitempty"` // as authenticated
	Addr  string `json:"addr,omitempty"` // network address
	Agent string `json:"agent,omitempty"`
}

// Event records one lock, unlock, write, delete or restore, done or refused.
type Event struct {
	// ID is unique. An event may be listed twice after a crash, with the same ID.
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Action Action    `json:"action"`
	By     Caller    `json:"by"`

	// Status and Refused say why it was refused; they are empty when it was done.
	Status  int    `json:"status,omitempty"`
	Refused string `json:"refused,omitempty"`

	// LockID, Who and Operation are what the caller says of itself.
	LockID    string `json:"lock_id,omitempty"`
	Who       string `json:"who,omitempty"`
	Operation string `json:"operation,omitempty"`

	// Holder is the lock that was in the way, or that was broken.
	Holder    string `json:"holder,omitempty"`     // its ID
	HolderWho string `json:"holder_who,omitempty"` // its Who

	Version int    `json:"version,omitempty"` // the version that was made
	Serial  uint64 `json:"serial,omitempty"`
	Note    string `json:"note,omitempty"`
}

const eventsFile = "events.jsonl"

func (s *States) newEvent(action Action, by Caller) *Event {
	by.User, by.Addr, by.Agent = clip(by.User), clip(by.Addr), clip(by.Agent)
	return &Event{ID: rand.Text(), Time: s.now(), Action: action, By: by}
}

// from notes what the caller's lock record says of it.
func (e *Event) from(info LockInfo) *Event {
	e.LockID, e.Who, e.Operation = clip(info.ID), clip(info.Who), clip(info.Operation)
	return e
}

// held notes the lock that the event is about.
func (e *Event) held(l *Lock) {
	if l != nil {
		e.Holder, e.HolderWho = clip(l.Info.ID), clip(l.Info.Who)
	}
}

func (e *Event) refuse(r *Refusal) {
	e.Status, e.Refused = r.Status, r.Message
	e.Version, e.Serial = 0, 0 // of a try before another writer got ahead
	e.held(r.Holder)
}

func (e *Event) made(v Version) { e.Version, e.Serial = v.Number, v.Serial }
