package state

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/captf/captf-runner/runner/naming"
)

// Chunk is what matters of a Secret that holds a part of a state.
type Chunk struct {
	Name        string
	Labels      map[string]string
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
	type numbered struct {
		part int
		Chunk
	}
	var parts []numbered
	for _, c := range s.Chunks {
		part, ok := naming.StatePart(s.Suffix, c.Name)
		if !ok {
			return nil, inconsistent(c.Name, "it carries the suffix %s but is not called like a chunk: take its label away", s.Suffix)
		}
		if c.Data == nil {
			return nil, inconsistent(c.Name, "it has no key %s: if the object never applied, its first init was killed and the next Job repairs it, else restore a backup", DataKey)
		}
		parts = append(parts, numbered{part, c})
	}
	slices.SortFunc(parts, func(a, b numbered) int { return cmp.Compare(a.part, b.part) })
	ordered := make([]Chunk, len(parts))
	for i, p := range parts {
		switch {
		case p.part < i:
			return nil, inconsistent(p.Name, "it is there twice")
		case p.part > i:
			return nil, inconsistent(naming.StateSecret(s.Suffix, i), "it is missing, but there is %s", p.Name)
		}
		ordered[i] = p.Chunk
	}
	return ordered, nil
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
