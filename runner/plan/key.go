package plan

import (
	"fmt"
	"io"
	"os"
)

// MinKeySize is the least number of bytes of a plan key.
const MinKeySize = 32

// maxKeySize keeps a path that names the wrong file from being read whole.
const maxKeySize = 64 << 10

// ReadKey reads the plan key at path. Every byte counts, a final newline too, because a key may
// be random bytes. A file that cannot be read, or that holds fewer than [MinKeySize] bytes or
// more than 64 KiB, is an error.
func ReadKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("plan key: %w", err)
	}
	defer f.Close()
	key, err := io.ReadAll(io.LimitReader(f, maxKeySize+1))
	if err != nil {
		return nil, fmt.Errorf("plan key: %w", err)
	}
	if len(key) > maxKeySize {
		return nil, fmt.Errorf("plan key %s: more than %d bytes, this is no key", path, maxKeySize)
	}
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return key, nil
}

func checkKey(key []byte) error {
	if len(key) < MinKeySize {
		return fmt.Errorf("plan key: %d bytes, need at least %d: make one with head -c 32 /dev/urandom", len(key), MinKeySize)
	}
	return nil
}
