package state

import (
	"compress/gzip"
	"io"
)

// Read summarises the state. Outputs, and nothing else of the state's size, are
// kept in memory. Every error is an [*Error]:
//
//   - that of [Source.Ordered];
//   - [Corrupt] if the chunks are not gzip, not JSON, hold more than [MaxSize]
//     bytes, or a version other than 4;
//   - [Encrypted], and then a summary as well, without outputs and resources.
func (s Source) Read() (*Summary, error) {
	chunks, err := s.Ordered()
	if err != nil {
		return nil, err
	}
	src := &joined{rest: chunks}
	sum, err := ReadJSON(&member{src: src})
	if sum != nil {
		sum.Chunks = len(chunks)
		sum.CompressedSize = src.offset()
		sum.InputsHash = chunks[0].Annotations[AnnotationInputsHash]
	}
	return sum, err
}

// Open returns the state itself, decompressed while it is read. Errors are those
// of [Source.Ordered] and, while reading, [Corrupt].
func (s Source) Open() (io.Reader, error) {
	chunks, err := s.Ordered()
	if err != nil {
		return nil, err
	}
	return &bounded{r: &member{src: &joined{rest: chunks}}, left: MaxSize}, nil
}

// member reads the first gzip member of src. A chunk that stayed behind when the
// state shrank follows that member, and is ignored. Every error but the end is
// the reason Corrupt.
type member struct {
	src *joined
	z   *gzip.Reader
}

func (m *member) Read(p []byte) (int, error) {
	if m.z == nil {
		z, err := gzip.NewReader(m.src)
		if err != nil {
			return 0, corrupt("it is not gzip: %w", err)
		}
		z.Multistream(false)
		m.z = z
	}
	n, err := m.z.Read(p)
	if err != nil && err != io.EOF {
		return n, corrupt("gunzip: %w", err)
	}
	return n, err
}

// bounded refuses to read more than left bytes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, corrupt("it has more than %d bytes", MaxSize)
	}
	return n, err
}
