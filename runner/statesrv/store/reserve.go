package store

import "context"

// Reserver is a store that may have no room for a swap later.
type Reserver interface {
	// Reserve makes sure that the record of data, which is about to be created, can be swapped once without more room.
	Reserve(ctx context.Context, key string, data []byte) error
}

// Reserve does so where a store can run out of room.
func Reserve(ctx context.Context, s Store, key string, data []byte) error {
	if r, ok := s.(Reserver); ok {
		return r.Reserve(ctx, key, data)
	}
	return nil
}
