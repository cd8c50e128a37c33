package cli

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWarnOpenFiles(t *testing.T) {
	for _, c := range []struct {
		file string
		mode fs.FileMode
		want string // "" for no warning
	}{
		{"users", 0o666, "can change"},
		{"users", 0o602, "can change"},
		{"users", 0o644, "can read"},
		{"users", 0o660, ""},
		{"users", 0o600, ""},
		{"key", 0o644, "can read"},
		{"key", 0o440, ""},
		{"cert", 0o666, "can change"},
		{"cert", 0o644, ""},
		{"ca", 0o646, "can change"},
		{"ca", 0o644, ""},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		var opts serveOptions
		*map[string]*string{"users": &opts.users, "key": &opts.key, "cert": &opts.cert, "ca": &opts.clientCA}[c.file] = path
		var said bytes.Buffer
		s := &server{opts: opts, log: slog.New(slog.NewTextHandler(&said, nil))}
		s.warnOpenFiles()
		if got := said.String(); c.want == "" && got != "" || !strings.Contains(got, c.want) || got != "" && !strings.Contains(got, "level=WARN") {
			t.Errorf("%s with mode %o: %q, want %q", c.file, c.mode, got, c.want)
		}
	}
}
