package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// A log is a row of records KEY/00000001, KEY/00000002 and on, each with lines up to
// logSize. Lines are added to the last one by a swap; a full one does not change any
// more. A cursor is the number of a record and an offset in it.

const (
	logSize     = 64 << 10
	appendTries = 64 // each failed one means that another writer got ahead
)

// logEnd is what a process knows of the end of a log.
type logEnd struct {
	mu   sync.Mutex // writers of one process take turns
	last int        // a number that was the last one's; 0 if none is known
}

func (s *Store) endOf(key string) *logEnd {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.logs[key]
	if end == nil {
		end = &logEnd{}
		s.logs[key] = end
	}
	return end
}

func logRecord(key string, number int) string { return fmt.Sprintf("%s/%08d", key, number) }

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, key string, line []byte) error {
	end := s.endOf(key)
	end.mu.Lock()
	defer end.mu.Unlock()
	number, err := s.lastNumber(ctx, key, end.last)
	if err != nil {
		return err
	}
	line = append(bytes.Clone(line), '\n')
	for range appendTries {
		full, err := s.appendTo(ctx, logRecord(key, max(number, 1)), line)
		switch {
		case err == nil && !full:
			end.last = max(number, 1)
			return nil
		case err == nil:
			number++
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrExists):
			return err
		}
	}
	return fmt.Errorf("append to %s: %d other writers got ahead: %w", key, appendTries, store.ErrConflict)
}

// appendTo adds a line to one record, or reports that it is full.
func (s *Store) appendTo(ctx context.Context, record string, line []byte) (full bool, err error) {
	rec, err := s.Get(ctx, record)
	if errors.Is(err, store.ErrNotFound) {
		_, err = s.Create(ctx, record, line)
		return false, err
	}
	if err != nil {
		return false, err
	}
	if len(rec.Data)+len(line) > logSize {
		return true, nil
	}
	_, err = s.Swap(ctx, record, rec.Revision, append(rec.Data, line...))
	return false, err
}

// lastNumber returns the number of the last record, 0 if there is none. from is a
// number that is known, so that a long log needs no list.
func (s *Store) lastNumber(ctx context.Context, key string, from int) (int, error) {
	if from > 0 {
		return from, nil
	}
	last := 0
	for name, err := range s.List(ctx, key) {
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(name); err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

// Sync implements store.Log: what is appended is durable.
func (s *Store) Sync(context.Context, string) error { return nil }

// Lines implements store.Log.
func (s *Store) Lines(ctx context.Context, key string, after store.Cursor) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		number, offset, err := placeOf(after)
		for err == nil {
			var data []byte
			if data, err = s.logData(ctx, key, number); err != nil || data == nil {
				break
			}
			if offset > len(data) {
				err = fmt.Errorf("%w: it is behind the end", store.ErrCursor)
				break
			}
			for line := range linesOf(number, offset, data) {
				if !yield(line, nil) {
					return
				}
			}
			number, offset = number+1, 0
		}
		if err != nil {
			yield(store.Line{}, fmt.Errorf("read %s: %w", key, err))
		}
	}
}

// logData returns what one record has, nil if there is none.
func (s *Store) logData(ctx context.Context, key string, number int) ([]byte, error) {
	rec, err := s.Get(ctx, logRecord(key, number))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return rec.Data, err
}

// linesOf yields the whole lines of a record from an offset on.
func linesOf(number, offset int, data []byte) iter.Seq[store.Line] {
	return func(yield func(store.Line) bool) {
		for {
			length := bytes.IndexByte(data[offset:], '\n')
			if length < 0 {
				return
			}
			line := data[offset : offset+length]
			offset += length + 1
			if !yield(store.Line{Data: line, After: store.Cursor(fmt.Sprintf("%d-%d", number, offset))}) {
				return
			}
		}
	}
}

func placeOf(after store.Cursor) (number, offset int, err error) {
	if after == "" {
		return 1, 0, nil
	}
	first, second, _ := strings.Cut(string(after), "-")
	number, err = strconv.Atoi(first)
	if err == nil {
		offset, err = strconv.Atoi(second)
	}
	if err != nil || number < 1 || offset < 0 {
		return 0, 0, fmt.Errorf("%w %.64q", store.ErrCursor, string(after))
	}
	return number, offset, nil
}

// Last implements store.Log. It reads from the end, so a long log costs no more.
func (s *Store) Last(ctx context.Context, key string, n int) ([]store.Line, error) {
	end := s.endOf(key)
	end.mu.Lock()
	from := end.last
	end.mu.Unlock()
	number, err := s.lastNumber(ctx, key, from)
	if err != nil {
		return nil, err
	}
	if number, err = s.forward(ctx, key, number); err != nil {
		return nil, err
	}
	var lines []store.Line
	for ; number > 0 && len(lines) < n; number-- {
		data, err := s.logData(ctx, key, number)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		var before []store.Line
		for line := range linesOf(number, 0, data) {
			before = append(before, line)
		}
		lines = append(before, lines...)
	}
	return lines[max(0, len(lines)-n):], nil
}

// forward returns the number of the last record, for one that was the last once.
func (s *Store) forward(ctx context.Context, key string, number int) (int, error) {
	for {
		data, err := s.logData(ctx, key, number+1)
		if err != nil || data == nil {
			return number, err
		}
		number++
	}
}
