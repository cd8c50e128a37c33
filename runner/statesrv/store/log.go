package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Cursor is a place in a log: that of the line after which to go on. The empty
// cursor is the beginning. Cursors are opaque.
type Cursor string

// Line is one line of a log, without its newline.
type Line struct {
	Data []byte
	// After is the cursor that goes on behind this line.
	After Cursor
}

// Log is a store with append-only sequences of lines.
type Log interface {
	// Append adds a line, which has no newline in it. It need not be durable
	// before Sync, but must survive the end of the process.
	Append(ctx context.Context, key string, line []byte) error
	// Sync makes all lines appended so far durable.
	Sync(ctx context.Context, key string) error
	// Lines yields the lines behind a cursor in the order of appending. A line
	// that a crash has cut short is left out.
	Lines(ctx context.Context, key string, after Cursor) iter.Seq2[Line, error]
	// Last returns at most the last n lines.
	Last(ctx context.Context, key string, n int) ([]Line, error)
}

// LogOf returns the store's own log, or one that keeps each line in a record of
// its own.
func LogOf(s Store) Log {
	if l, ok := s.(Log); ok {
		return l
	}
	return recordLog{s}
}

// Seeker is a store that lists what follows a name without reading all that is
// before it.
type Seeker interface {
	// ListAfter is List without the segments up to after and after itself.
	ListAfter(ctx context.Context, dir, after string) iter.Seq2[string, error]
}

// recordLog keeps each line in a record whose last segment sorts by time.
type recordLog struct{ s Store }

func (l recordLog) Append(ctx context.Context, key string, line []byte) error {
	_, err := l.s.Create(ctx, key+"/"+timeName(time.Now())+rand.Text(), line)
	return err
}

func timeName(t time.Time) string { return fmt.Sprintf("%020d-", t.UnixNano()) }

// Sync has nothing to do: Create is durable.
func (recordLog) Sync(context.Context, string) error { return nil }

func (l recordLog) Lines(ctx context.Context, key string, after Cursor) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for name, err := range l.after(ctx, key, string(after)) {
			if err != nil {
				yield(Line{}, err)
				return
			}
			line, err := l.line(ctx, key, name)
			if errors.Is(err, ErrNotFound) { // swept meanwhile
				continue
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

func (l recordLog) after(ctx context.Context, key, after string) iter.Seq2[string, error] {
	if seeker, ok := l.s.(Seeker); ok {
		return seeker.ListAfter(ctx, key, after)
	}
	return func(yield func(string, error) bool) {
		for name, err := range l.s.List(ctx, key) {
			if (err != nil || name > after) && !yield(name, err) {
				return
			}
		}
	}
}

func (l recordLog) Last(ctx context.Context, key string, n int) ([]Line, error) {
	names, err := l.lastNames(ctx, key, n)
	if err != nil {
		return nil, err
	}
	lines := make([]Line, 0, len(names))
	for _, name := range names {
		line, err := l.line(ctx, key, name)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// lastNames looks back further and further, so that a long log costs no more than
// a short one.
func (l recordLog) lastNames(ctx context.Context, key string, n int) ([]string, error) {
	for back := time.Minute; ; back *= 16 {
		after, all := timeName(time.Now().Add(-back)), back > maxBack
		if all {
			after = ""
		}
		var names []string
		for name, err := range l.after(ctx, key, after) {
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
		if len(names) >= n || all {
			return names[max(0, len(names)-n):], nil
		}
	}
}

// maxBack is a year: it bounds the lists that a quiet log costs.
const maxBack = 365 * 24 * time.Hour

func (l recordLog) line(ctx context.Context, key, name string) (Line, error) {
	rec, err := l.s.Get(ctx, key+"/"+name)
	return Line{rec.Data, Cursor(name)}, err
}
