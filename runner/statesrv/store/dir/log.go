package dir

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strconv"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Append implements store.Log: the log is a file of lines.
func (s *Store) Append(ctx context.Context, key string, line []byte) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	line = append(bytes.Clone(line), '\n')
	err := s.Files(ctx, path.Dir(key), func(f store.Files) error {
		return appendLine(f, path.Base(key), line)
	})
	if err != nil {
		return fmt.Errorf("append to %s: %w", key, err)
	}
	return nil
}

func appendLine(f store.Files, name string, line []byte) error {
	last, err := f.Tail(name, 1)
	if err != nil {
		return err
	}
	if len(last) == 1 && last[0] != '\n' { // a crash left a torn line: end it
		line = append([]byte{'\n'}, line...)
	}
	return f.Extend(name, "", line)
}

// Sync implements store.Log.
func (s *Store) Sync(ctx context.Context, key string) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	err := s.sync(key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sync %s: %w", key, err)
	}
	return nil
}

func (s *Store) sync(key string) error {
	p, err := s.at(path.Dir(key))
	if err != nil {
		return err
	}
	defer p.Close()
	f, err := p.OpenFile(path.Base(key), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(s.step("fsync", key, f.Sync), f.Close(), p.sync())
}

// Lines implements store.Log. A cursor is the offset of the next line.
func (s *Store) Lines(ctx context.Context, key string, after store.Cursor) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		if err := s.lines(ctx, key, after, yield); err != nil {
			yield(store.Line{}, fmt.Errorf("read %s: %w", key, err))
		}
	}
}

func (s *Store) lines(ctx context.Context, key string, after store.Cursor, yield func(store.Line, error) bool) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	offset, err := offsetOf(after)
	if err != nil {
		return err
	}
	f, err := s.root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	return eachLine(ctx, f, offset, yield)
}

func eachLine(ctx context.Context, r io.Reader, offset int64, yield func(store.Line, error) bool) error {
	buffered := bufio.NewReader(r)
	for ctx.Err() == nil {
		data, err := buffered.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // what is left has no newline: torn, or being written
			return nil
		}
		if err != nil {
			return err
		}
		offset += int64(len(data))
		if !yield(store.Line{Data: data[:len(data)-1], After: cursorOf(offset)}, nil) {
			return nil
		}
	}
	return ctx.Err()
}

// Last implements store.Log. It reads from the end, so a long log costs no more.
func (s *Store) Last(ctx context.Context, key string, n int) ([]store.Line, error) {
	if err := store.Check(ctx, key); err != nil {
		return nil, err
	}
	f, err := s.root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	defer f.Close()
	lines, err := lastLines(f, n)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return lines, nil
}

func lastLines(f *os.File, n int) ([]store.Line, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for chunk := int64(32 << 10); ; chunk *= 4 {
		from := max(0, info.Size()-chunk)
		data, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
		if err != nil {
			return nil, err
		}
		lines := split(data, from)
		if from == 0 || len(lines) > n { // more than n: the first may be cut
			return lines[max(0, len(lines)-n):], nil
		}
	}
}

// split cuts data, which starts at offset, into its complete lines.
func split(data []byte, offset int64) []store.Line {
	var lines []store.Line
	for {
		line, rest, ok := bytes.Cut(data, []byte{'\n'})
		if !ok {
			return lines
		}
		offset += int64(len(line)) + 1
		lines = append(lines, store.Line{Data: line, After: cursorOf(offset)})
		data = rest
	}
}

func cursorOf(offset int64) store.Cursor { return store.Cursor(strconv.FormatInt(offset, 10)) }

func offsetOf(c store.Cursor) (int64, error) {
	if c == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(c), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%w %.32q", store.ErrCursor, string(c))
	}
	return n, nil
}
