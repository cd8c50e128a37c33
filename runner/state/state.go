// Package state reads the states that the kubernetes backend keeps in Secrets,
// and says why one cannot be read.
//
// Start with [Source]: fill it with the Secrets of one object, listed live, and
// call [Source.Read]. A failure is an [*Error] whose [Reason] is the reason of
// the object's StateReadable condition. [ReadJSON] summarises a state that is
// not in Secrets, and [Inputs] computes the hash that tells whether a state was
// made from today's inputs.
//
// The reader is a streaming scanner. It never decodes a resource's attributes,
// and apart from the outputs that it returns its memory does not grow with the
// state. See "Reading a state" in spec/state-and-locks.md.
package state

const (
	// MaxSize is the limit of a decompressed state, in bytes.
	MaxSize = 64 << 20
	// MaxChunks is the limit of Secrets that one state may have.
	MaxChunks = 32
	// DataKey is the key of a Secret's data that holds a chunk.
	DataKey = "tfstate"
)
