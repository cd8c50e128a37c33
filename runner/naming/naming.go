// Package naming holds every name that the runner, the library and the backend
// must agree on: kinds, the state suffix, Secret and Lease names, labels, Job
// names, and which pods belong to an object.
//
// Start with [Object] and [Suffix]; [BackendConfig] turns an object into the
// arguments of init, [JobName] names its next Job, and [OwnsPod] is the exact
// inverse of JobName for a pod that holds a lock.
//
// The package is pure: standard library only, no clock, no API server.
//
// # Compatibility
//
// Names are derived from namespace, kind and name, never from a UID, so that
// they survive a move of the object to another management cluster. A name or a
// label that this package gave an object once never changes: Terraform finds a
// state by the whole label map, and a changed map makes the state appear to
// vanish. See "Names" in spec/state-and-locks.md.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
)

// shortHash returns the first 16 hex characters of the SHA-256 of s.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
