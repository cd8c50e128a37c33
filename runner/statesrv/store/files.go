package store

import (
	"context"
)

// Plain is a store that keeps plain files for people beside its records. Nothing
// is decided by them; they can be rebuilt from the records at any time.
type Plain interface {
	// Files runs fn with the files of the directory dir, alone among all
	// processes that use the store. fn must not call Swap on a key of dir.
	Files(ctx context.Context, dir string, fn func(Files) error) error
}

// Files are the plain files of one directory. They are written without waiting
// for the disk, so that they cost the request little.
type Files interface {
	// Tail returns at most the last n bytes of a file, nil if there is none.
	Tail(name string, n int64) ([]byte, error)
	// Put replaces a file as a whole: a reader sees the old or the new bytes.
	Put(name string, data []byte) error
	// Link makes name another name of the file at the path from below the directory,
	// in place of what was there, and the file read-only: who changes one changes
	// both.
	Link(from, name string) error
	// Extend replaces the file's last len(tail) bytes, which must equal tail, by
	// data; otherwise ErrConflict. An empty or absent file has no tail.
	Extend(name, tail string, data []byte) error
	// Remove deletes a file. Removing what is absent is no error.
	Remove(name string) error
	// Rename gives a file another name in the same directory; both may be paths from
	// below the directory.
	Rename(from, to string) error
}

// Sole is a store that knows whether other processes use it.
type Sole interface {
	// Alone runs fn if no other process has the store open, keeping others out
	// until it returns, and reports whether it ran. It must not be called while
	// this process has other operations under way.
	Alone(ctx context.Context, fn func() error) (ran bool, err error)
	// Sweep removes what interrupted writes have left in dir and below it, and
	// returns its names. It must run inside Alone.
	Sweep(ctx context.Context, dir string) ([]string, error)
}
