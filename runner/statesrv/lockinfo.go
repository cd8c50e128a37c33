package statesrv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Limits of a lock record as clients send it.
const (
	maxLockBody = 64 << 10
	maxLockID   = 256
	maxField    = 256 // of a field that is copied into versions and events
)

// LockInfo is the lock record that a client sends. It is kept and given back as
// it was sent, unknown fields included.
type LockInfo struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   string // as sent; usually RFC 3339
	Path      string

	raw json.RawMessage
}

// lockFields is LockInfo without its methods.
type lockFields struct {
	ID, Operation, Info, Who, Version string
	// Created is left out where there is none: clients cannot read an empty time.
	Created string `json:",omitempty"`
	Path    string
}

// ParseLockInfo reads the body of a LOCK request. It returns a Refusal, 400 or
// 413, for a body that is empty, no object, has no ID or is too long.
func ParseLockInfo(body []byte) (LockInfo, error) {
	var l LockInfo
	switch {
	case len(body) > maxLockBody:
		return l, &Refusal{Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("the lock record is longer than %d bytes", maxLockBody)}
	case len(bytes.TrimSpace(body)) == 0:
		return l, badRequest("the lock record is empty: send an object with an ID")
	}
	if err := json.Unmarshal(body, &l); err != nil {
		return l, badRequest(fmt.Sprintf("the lock record is no JSON object of strings: %v", err))
	}
	return l, checkLockID(l.ID)
}

// checkCreated returns a Refusal for a record that clients could not read when they
// are told of the holder: they would neither wait nor name it.
func checkCreated(body []byte) error {
	var record struct{ Created *time.Time }
	if err := json.Unmarshal(body, &record); err != nil {
		return badRequest(fmt.Sprintf("the lock record's Created is no time, which clients could not read: %v", err))
	}
	return nil
}

func checkLockID(id string) error {
	switch {
	case id == "":
		return badRequest("the lock record has no ID")
	case len(id) > maxLockID:
		return badRequest(fmt.Sprintf("the lock ID is longer than %d bytes", maxLockID))
	}
	return nil
}

// UnmarshalJSON keeps the bytes beside the fields.
func (l *LockInfo) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return fmt.Errorf("want an object")
	}
	var f lockFields
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*l = LockInfo{f.ID, f.Operation, f.Info, f.Who, f.Version, f.Created, f.Path, bytes.Clone(data)}
	return nil
}

// MarshalJSON gives the record back as it was sent.
func (l LockInfo) MarshalJSON() ([]byte, error) {
	if l.raw != nil {
		return l.raw, nil
	}
	return encode(lockFields{l.ID, l.Operation, l.Info, l.Who, l.Version, l.Created, l.Path})
}

// onlyID reports whether the record has nothing but an ID, as that of OpenTofu's
// force-unlock: not the holder is talking, but somebody who knows the ID. OpenTofu sends
// the other fields as well, empty, and the time as Go's zero.
func (l LockInfo) onlyID() bool {
	created, err := time.Parse(time.RFC3339, l.Created)
	return l.Operation == "" && l.Who == "" && (l.Created == "" || err == nil && created.IsZero())
}

// Lock is a lock that is held.
type Lock struct {
	Info LockInfo `json:"info"`
	// Since is when it was granted, by the server's clock.
	Since time.Time `json:"since"`
	// By is who was granted it.
	By Caller `json:"by"`
}

// String names the holder for messages.
func (l *Lock) String() string {
	return fmt.Sprintf("lock %q, held by %s for %s since %s", l.Info.ID,
		orUnknown(l.Info.Who), orUnknown(l.Info.Operation), l.Since.UTC().Format(time.RFC3339))
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return fmt.Sprintf("%q", s)
}

// clip shortens a client's text for the records that keep it.
func clip(s string) string {
	if len(s) <= maxField {
		return s
	}
	return strings.ToValidUTF8(s[:maxField-3], "") + "..."
}

// encode is json.Marshal without the escaping that HTML would need.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
