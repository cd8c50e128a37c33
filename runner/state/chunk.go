package state

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/naming"
)

// Chunk is what matters of a Secret that holds a part of a state.
type Chunk struct {
	Name        string
	Annotations map[string]string
	// Data is the value of [DataKey], nil if the Secret lacks that key.
	Data []byte
}

// Source is a state in Secrets.
type Source struct {
	// Suffix is the object's secret_suffix.
	Suffix string
	// Applied says that the object has applied before, so that there must be a
	// state.
	Applied bool
	// Chunks are the Secrets that carry the suffix as label, in any order.
	Chunks []Chunk
}

// Ordered returns the chunks base first, then part 1, part 2 and so on. The
// error has the reason [NotFound] or [Lost] for no chunk, [Corrupt] for more
// than [MaxChunks], and [Inconsistent] for a gap, a duplicate, a name that is no
// chunk's, or a chunk without data.
func (s Source) Ordered() ([]Chunk, error) {
	switch n := len(s.Chunks); {
	case n == 0 && s.Applied:
		return nil, &Error{Reason: Lost, Err: s.missing("although the object has applied: restore a backup, or it creates everything anew")}
	case n == 0:
		return nil, &Error{Reason: NotFound, Err: s.missing("yet")}
	case n > MaxChunks:
		return nil, corrupt("more than %d Secrets carry the suffix %s: take the label %s away from those that are no chunks", MaxChunks, s.Suffix, naming.LabelStateSuffix)
	}
	parts, err := s.parts()
	if err != nil {
		return nil, err
	}
	ordered := make([]Chunk, len(parts))
	for i, p := range parts {
		switch {
		case p.number < i:
			return nil, inconsistent(p.Name, "it is there twice")
		case p.number > i:
			return nil, s.gap(parts)
		}
		ordered[i] = p.Chunk
	}
	return ordered, nil
}

// part is a chunk with its number; the base has 0.
type part struct {
	number int
	Chunk
}

// parts returns the chunks in the order of their numbers.
func (s Source) parts() ([]part, error) {
	var parts []part
	for _, c := range s.Chunks {
		n, ok := naming.StatePart(s.Suffix, c.Name)
		if !ok {
			return nil, inconsistent(c.Name, "it carries the suffix %s but is not called like a chunk: take its label away", s.Suffix)
		}
		if c.Data == nil {
			return nil, inconsistent(c.Name, "it has no key %s: if the object never applied, its first init was killed and the next Job repairs it, else restore a backup", DataKey)
		}
		parts = append(parts, part{n, c})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	return parts, nil
}

// gap is the error that chunks are missing between those that are there, in order.
func (s Source) gap(parts []part) error {
	var there, missing []string
	next := 0
	for _, p := range parts {
		for ; next < p.number && len(missing) < MaxChunks; next++ {
			missing = append(missing, naming.StateSecret(s.Suffix, next))
		}
		there, next = append(there, p.Name), p.number+1
	}
	return inconsistent(missing[0], "chunks of the state are missing: %s; there are %s: %s",
		strings.Join(missing, ", "), strings.Join(there, ", "), bringBack)
}

const (
	// bringBack is the way out when chunks are missing.
	bringBack = "bring the missing ones back, for example from a backup of the cluster, or restore a copy of the state"
	// chunkSize is how much of a compressed state Terraform puts into one Secret, in bytes.
	chunkSize = 1 << 20
)

// cutOff is the error that the chunks, in order, end before the state does. Terraform fills each chunk but the last, so
// that the one behind a full one is known to be missing.
func (s Source) cutOff(chunks []Chunk) error {
	last, next := chunks[len(chunks)-1], naming.StateSecret(s.Suffix, len(chunks))
	var there []string
	for _, c := range chunks {
		there = append(there, c.Name)
	}
	if len(last.Data) == chunkSize {
		return inconsistent(next, "it is missing: the state goes on behind the last chunk; there are %s: %s", strings.Join(there, ", "), bringBack)
	}
	return corrupt("gunzip: %w: the state goes on behind the last chunk; there are %s: either %s is cut off at %d bytes, or %s is missing: %s",
		io.ErrUnexpectedEOF, strings.Join(there, ", "), last.Name, len(last.Data), next, bringBack)
}

func (s Source) missing(detail string) error {
	return fmt.Errorf("secret %s does not exist %s", naming.StateSecret(s.Suffix, 0), detail)
}

// joined reads chunks one behind the other. It implements [io.ByteReader], so
// that gunzip takes no byte more than it needs.
type joined struct {
	rest   []Chunk // behind the current one
	data   []byte  // the current one
	pos    int     // in data
	before int64   // bytes in earlier ones
}

// offset returns the number of bytes read so far.
func (j *joined) offset() int64 { return j.before + int64(j.pos) }

func (j *joined) ReadByte() (byte, error) {
	if j.pos == len(j.data) && !j.advance() {
		return 0, io.EOF
	}
	b := j.data[j.pos]
	j.pos++
	return b, nil
}

func (j *joined) Read(p []byte) (int, error) {
	if j.pos == len(j.data) && !j.advance() {
		return 0, io.EOF
	}
	n := copy(p, j.data[j.pos:])
	j.pos += n
	return n, nil
}

// advance goes to the next chunk that has data.
func (j *joined) advance() bool {
	for j.pos == len(j.data) {
		if len(j.rest) == 0 {
			return false
		}
		j.before += int64(j.pos)
		j.data, j.rest, j.pos = j.rest[0].Data, j.rest[1:], 0
	}
	return true
}
