package state

import (
	"compress/gzip"
	"io"
)

// Read summarises the state. Outputs, and nothing else of the state's size, are
// kept in memory. Every error is an [*Error]:
//
//   - that of [Source.Ordered];
//   - [Inconsistent] if the last chunk is missing, for certain;
//   - [Corrupt] if the chunks are not gzip or end too early, are not JSON, hold
//     more than [MaxSize] bytes, or a version other than 4;
//   - [Encrypted], and then a summary as well, without outputs and resources.
func (s Source) Read() (*Summary, error) {
	chunks, err := s.Ordered()
	if err != nil {
		return nil, err
	}
	src := &joined{rest: chunks}
	sum, err := ReadJSON(&member{src: src, cutOff: func() error { return s.cutOff(chunks) }})
	if sum != nil {
		sum.Chunks = len(chunks)
		sum.CompressedSize = src.offset()
		sum.InputsHash = chunks[0].Annotations[AnnotationInputsHash]
	}
	return sum, err
}

// Open returns the state itself, decompressed while it is read. Errors are those
// of [Source.Ordered] and, while reading, [Inconsistent] and [Corrupt] as of
// [Source.Read].
func (s Source) Open() (io.Reader, error) {
	chunks, err := s.Ordered()
	if err != nil {
		return nil, err
	}
	compressed := &member{src: &joined{rest: chunks}, cutOff: func() error { return s.cutOff(chunks) }}
	return &bounded{r: compressed, left: MaxSize}, nil
}

// member reads the first gzip member of src. A chunk that stayed behind when the
// state shrank follows that member, and is ignored. Every error but the end has a
// reason; that of chunks that end too early is cutOff's.
type member struct {
	src    *joined
	cutOff func() error
	z      *gzip.Reader
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
	switch err {
	case nil, io.EOF:
		return n, err
	case io.ErrUnexpectedEOF:
		return n, m.cutOff()
	}
	return n, corrupt("gunzip: %w", err)
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
