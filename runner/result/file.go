package result

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// File is where a run leaves its result. It is safe for concurrent use.
//
// A regular file, which a termination message is, holds a whole document after
// every Write. A stream (a pipe, a terminal, /dev/stdout) gets the final one
// only.
type File struct {
	path   string
	stream bool

	mu   sync.Mutex
	f    target
	info os.FileInfo // of a regular file
	size int         // of the document in the file
	done bool        // the final document was written
}

// target is the part of [os.File] that a File needs.
type target interface {
	io.WriteCloser
	io.WriterAt
	Truncate(size int64) error
}

// Open opens the place for a result, before anything runs. A regular file is
// created if need be, and emptied, so that the result of an earlier run is never
// taken for this one's.
func Open(path string) (*File, error) {
	switch path {
	case "/dev/stdout":
		return &File{path: path, stream: true, f: os.Stdout}, nil
	case "/dev/stderr":
		return &File{path: path, stream: true, f: os.Stderr}, nil
	}
	r, err := open(path)
	if err == nil {
		err = r.empty()
	}
	if err != nil {
		return nil, fmt.Errorf("result file %s: %w", path, err)
	}
	return r, nil
}

// Continue is Open for who has read the result of an earlier run there, and goes
// on telling what it told: until the first Write the file keeps it.
func Continue(path string) (*File, error) {
	r, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("result file %s: %w", path, err)
	}
	return r, nil
}

func open(path string) (*File, error) {
	// O_NONBLOCK: a named pipe that nobody reads is an error, not a hang.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &File{path: path, stream: !info.Mode().IsRegular(), f: f, info: info, size: int(info.Size())}, nil
}

// empty is for a file that was just opened.
func (w *File) empty() error {
	if w.stream {
		return nil
	}
	w.size = 0
	err := w.f.Truncate(0)
	if err != nil {
		_ = w.f.Close()
	}
	return err
}

// Write replaces the document by that of r, whose own Partial is ignored in
// favour of partial. A kill at any moment leaves the old document, the new one,
// or the new one and white space: the file may be a mount of its own, which
// cannot be renamed over. Once a final document is written, a partial one is
// ignored. When somebody has removed the file, or put another one in its place,
// the final document goes where a reader looks for it: to the path.
func (w *File) Write(r *Result, partial bool) error {
	c := *r
	c.Partial = partial
	w.mu.Lock()
	defer w.mu.Unlock()
	if partial && (w.stream || w.done) {
		return nil
	}
	w.done = !partial
	var err error
	if !partial {
		err = w.follow()
	}
	if err == nil {
		err = w.replace(Encode(&c))
	}
	if err != nil {
		return fmt.Errorf("result file %s: %w", w.path, err)
	}
	return nil
}

// follow opens the path again when it is not the open file any more.
func (w *File) follow() error {
	if w.stream {
		return nil
	}
	if info, err := os.Stat(w.path); err == nil && os.SameFile(info, w.info) {
		return nil
	}
	now, err := open(w.path)
	if err == nil {
		err = now.empty()
	}
	if err != nil {
		return err
	}
	_ = w.f.Close()
	w.f, w.info, w.stream, w.size = now.f, now.info, now.stream, 0
	return nil
}

func (w *File) replace(doc []byte) error {
	if w.stream {
		_, err := w.f.Write(append(doc, '\n'))
		return err
	}
	padded := append(bytes.Clone(doc), bytes.Repeat([]byte(" "), max(0, w.size-len(doc)))...)
	n, err := w.f.WriteAt(padded, 0)
	w.size = max(w.size, n)
	if err != nil {
		return err
	}
	if err := w.f.Truncate(int64(len(doc))); err != nil {
		return err
	}
	w.size = len(doc)
	return nil
}

// Stream tells whether it is a stream: each final document that is written would stay there.
func (w *File) Stream() bool { return w.stream }

// Close closes the file.
func (w *File) Close() error {
	if w.f == os.Stdout || w.f == os.Stderr {
		return nil
	}
	return w.f.Close()
}
