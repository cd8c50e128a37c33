package store

import "context"

// Keeper is a store that creates a record which is never swapped at less cost,
// because nobody needs its revision.
type Keeper interface {
	// Keep is Create without the revision.
	Keep(ctx context.Context, key string, data []byte) error
}

// Keep creates a record that is never swapped; otherwise ErrExists or ErrUnknown.
func Keep(ctx context.Context, s Store, key string, data []byte) error {
	if k, ok := s.(Keeper); ok {
		return k.Keep(ctx, key, data)
	}
	_, err := s.Create(ctx, key, data)
	return err
}
