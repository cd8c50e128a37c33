package store

import (
	"bytes"
	"context"
	"io"
)

// Body is a record's value as a stream of Size bytes. The caller closes it.
type Body struct {
	io.ReadCloser
	Size int64
}

// Opener is a store that can stream a record's value in constant memory.
type Opener interface {
	// Open returns the value, or ErrNotFound.
	Open(ctx context.Context, key string) (Body, error)
}

// Open streams a record's value from s, or reads it whole if s cannot stream.
func Open(ctx context.Context, s Store, key string) (Body, error) {
	if o, ok := s.(Opener); ok {
		return o.Open(ctx, key)
	}
	rec, err := s.Get(ctx, key)
	if err != nil {
		return Body{}, err
	}
	return Body{io.NopCloser(bytes.NewReader(rec.Data)), int64(len(rec.Data))}, nil
}
