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

// recordLog keeps each line in a record whose last segment sorts by time.
type recordLog struct{ s Store }

func (l recordLog) Append(ctx context.Context, key string, line []byte) error {
	name := fmt.Sprintf("%s/%020d-%s", key, time.Now().UnixNano(), rand.Text())
	_, err := l.s.Create(ctx, name, line)
	return err
}

// Sync has nothing to do: Create is durable.
func (recordLog) Sync(context.Context, string) error { return nil }

func (l recordLog) Lines(ctx context.Context, key string, after Cursor) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for name, err := range l.s.List(ctx, key) {
			if err != nil {
				yield(Line{}, err)
				return
			}
			if Cursor(name) <= after {
				continue
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

func (l recordLog) Last(ctx context.Context, key string, n int) ([]Line, error) {
	var names []string
	for name, err := range l.s.List(ctx, key) {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	names = names[max(0, len(names)-n):]
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

func (l recordLog) line(ctx context.Context, key, name string) (Line, error) {
	rec, err := l.s.Get(ctx, key+"/"+name)
	return Line{rec.Data, Cursor(name)}, err
}
