// Package store is the ground that the state server stands on: small named
// records with two primitives, create-if-absent ([Store.Create]) and
// compare-and-swap on an opaque revision ([Store.Swap]). Every rule about locks,
// serials and history is written once, in package statesrv, on top of them.
//
// Packages dir and memory are the engines that need nothing else, packages s3 and
// kubernetes are those that several machines can share; package storetest is the
// suite that every engine has to pass. [Prove] shows at start-up that an engine
// enforces its conditions among concurrent writers.
//
// # Keys
//
// A key is one to [MaxSegments] segments joined by "/". A segment is made of
// letters, digits, ".", "_", "-" and "%", does not start with a dot, and is at
// most [MaxSegment] bytes long. [CheckKey] enforces it.
//
// # Optional abilities
//
// An engine may also be an [Opener] (it streams), a [Log] (it appends), a
// [Plain] (it keeps files for people beside the records), a [Sole] (it knows
// whether other processes use it), a [Placed] (it knows whether it was
// removed), a [Seeker] (it lists from a name on), a
// [Keeper] (it creates what is never swapped at less cost) or a [Many] (it is
// served by several servers). Use [Open], [Keep] and [LogOf], which fall back to
// the primitives.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
)

// Revision identifies one value of a record. It compares only for equality.
type Revision string

// RevisionOf is the revision of a value for an engine that has no other: its digest.
func RevisionOf(data []byte) Revision {
	sum := sha256.Sum256(data)
	return Revision(hex.EncodeToString(sum[:]))
}

// Record is a value and the revision to swap it by.
type Record struct {
	Data     []byte
	Revision Revision
}

var (
	// ErrNotFound is returned by Get, Open and Swap for a key without a record.
	ErrNotFound = errors.New("record not found")
	// ErrExists is returned by Create when the key has a record already.
	ErrExists = errors.New("record exists")
	// ErrConflict is returned by Swap when the record is not at the given
	// revision any more: another writer won.
	ErrConflict = errors.New("record was changed by another writer")
	// ErrUnknown is returned by Create and Swap when the outcome cannot be
	// known: the answer was lost. Read the record back and compare its id.
	ErrUnknown = errors.New("outcome of the write is unknown")
	// ErrKey is returned for a key that CheckKey refuses.
	ErrKey = errors.New("invalid key")
	// ErrCursor is returned by a log for a cursor that it has not given out.
	ErrCursor = errors.New("invalid cursor")
)

// Store keeps records. All methods are safe for concurrent use, also by several
// processes where the engine says so. A nil error from Create or Swap means that
// the record is durable. Values must be unique for each write (a fresh random id
// inside), or equal bytes may give equal revisions.
type Store interface {
	// Get returns the record, read from the primary copy, or ErrNotFound.
	Get(ctx context.Context, key string) (Record, error)
	// Create makes the record if there is none; otherwise ErrExists.
	Create(ctx context.Context, key string, data []byte) (Revision, error)
	// Swap replaces the record if it is at revision old; otherwise ErrConflict,
	// or ErrNotFound when there is no record.
	Swap(ctx context.Context, key string, old Revision, data []byte) (Revision, error)
	// List yields the segments directly below dir ("" is the top), each once, in
	// ascending order. It is for people and sweeps, never for decisions.
	List(ctx context.Context, dir string) iter.Seq2[string, error]
	// Remove deletes a record. It is for sweeps of records that nothing refers
	// to, never for decisions. Removing what is absent is no error.
	Remove(ctx context.Context, key string) error
}
