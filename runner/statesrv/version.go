package statesrv

import (
	"fmt"
	"time"
)

// Version is the entry of one accepted write. The bytes are in a record of their
// own, which never changes.
type Version struct {
	Number  int       `json:"number"` // from 1, without gaps
	Serial  uint64    `json:"serial"`
	Lineage string    `json:"lineage"`
	Digest  string    `json:"digest"` // "sha256:" and hex
	Bytes   int64     `json:"bytes"`
	Time    time.Time `json:"time"`

	LockID    string `json:"lock_id,omitempty"`
	Who       string `json:"who,omitempty"`
	Operation string `json:"operation,omitempty"`

	// Opaque: the client encrypted it.
	Opaque bool `json:"opaque,omitempty"`
	// RestoredFrom is the number of the version that it brought back.
	RestoredFrom int `json:"restored_from,omitempty"`
	// Forced: serial and lineage were not checked, on request.
	Forced bool `json:"forced,omitempty"`
	// Pruned: the entry stays, the bytes are gone.
	Pruned bool `json:"pruned,omitempty"`

	// Body is the last segment of the key of its bytes. It differs from the usual
	// one when a crashed or slower writer had taken that.
	Body string `json:"body"`
}

const versionsDir = "versions"

func bodyName(number int) string { return fmt.Sprintf("%06d.tfstate", number) }

func bodyKey(name, body string) string {
	return dirOf(name) + "/" + versionsDir + "/" + body
}
