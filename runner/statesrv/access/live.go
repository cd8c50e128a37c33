package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Live is a value from files that may change while the server runs.
type Live[T any] struct {
	paths []string
	parse func(files [][]byte) (T, error)

	value atomic.Pointer[T]
	mu    sync.Mutex
	sum   [sha256.Size]byte // of the files when they were read last, right or wrong
}

// Load reads the files for the first time.
func Load[T any](parse func(files [][]byte) (T, error), paths ...string) (*Live[T], error) {
	l := &Live[T]{paths: paths, parse: parse}
	_, err := l.Reload()
	if err != nil {
		return nil, err
	}
	return l, nil
}

// LoadUsers reads a users file.
func LoadUsers(path string) (*Live[*Users], error) {
	return Load(func(files [][]byte) (*Users, error) { return ParseUsers(files[0]) }, path)
}

// Get returns the value of the last good files.
func (l *Live[T]) Get() T { return *l.value.Load() }

// Paths returns the names of the files.
func (l *Live[T]) Paths() []string { return l.paths }

// Reload reads the files again and reports whether they are new. After an error,
// which is returned once for each change, the value stays as it was.
func (l *Live[T]) Reload() (changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	files, sum, err := readAll(l.paths)
	if err != nil || sum == l.sum {
		return false, err
	}
	l.sum = sum
	value, err := l.parse(files)
	if err != nil {
		return false, fmt.Errorf("%s: %w", strings.Join(l.paths, ", "), err)
	}
	l.value.Store(&value)
	return true, nil
}

func readAll(paths []string) (files [][]byte, sum [sha256.Size]byte, err error) {
	digest := sha256.New()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, sum, err
		}
		fmt.Fprintf(digest, "%d\n", len(data))
		digest.Write(data)
		files = append(files, data)
	}
	return files, [sha256.Size]byte(digest.Sum(nil)), nil
}

// Reloader is what Watch keeps fresh.
type Reloader interface {
	Reload() (changed bool, err error)
	Paths() []string
}

// Watch reloads all of them, now and then and whenever now gets something, until
// ctx is done. It calls tell for what is new and, once, for what is wrong. Files
// are read, not watched: a mounted Secret is replaced by changing a link.
func Watch[S any](ctx context.Context, every time.Duration, now <-chan S, tell func(paths []string, err error), all ...Reloader) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := make([]error, len(all))
	for {
		select {
		case <-ctx.Done():
			return
		case <-now:
		case <-tick.C:
		}
		for i, r := range all {
			changed, err := r.Reload()
			if changed || err != nil && (last[i] == nil || last[i].Error() != err.Error()) {
				tell(r.Paths(), err)
			}
			last[i] = err
		}
	}
}
