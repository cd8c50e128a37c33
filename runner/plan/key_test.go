package plan

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	tests := []struct {
		name    string
		content []byte
		err     string
	}{
		{"exact", testKey, ""},
		{"newline belongs to the key", append(testKey[:31:31], '\n'), ""},
		{"largest", bytes.Repeat([]byte{0}, maxKeySize), ""},
		{"short", testKey[1:], "31 bytes, need at least 32"},
		{"empty", nil, "0 bytes, need at least 32"},
		{"too large", bytes.Repeat([]byte{0}, maxKeySize+1), "this is no key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(path, tt.content, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadKey(path)
			if tt.err == "" {
				if err != nil || !bytes.Equal(got, tt.content) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want an error with %q and the path", err, tt.err)
			}
		})
	}
}

func TestReadKeyMissing(t *testing.T) {
	if _, err := ReadKey(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if _, err := ReadKey(t.TempDir()); err == nil {
		t.Error("a directory was read as a key")
	}
}
