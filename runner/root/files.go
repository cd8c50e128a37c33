package root

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxFileSize bounds what is parsed. A parsed file takes about a hundred times its size in
// memory, and the runner has a small budget; real files are far smaller.
const maxFileSize = 1 << 20

// maxDepth bounds how deep a file may nest. The parser is recursive: far deeper, it would take
// the whole process down with a stack overflow.
const maxDepth = 10_000

var (
	errTooLarge   = errors.New("the file is larger than 1 MiB or nested too deep")
	errNotRegular = errors.New("not a regular file")
)

// unknown reports whether a file may be whole and was not read: a disk failed, or the process may open no more files.
// Any other error of read is one of the file itself, which the runtime tells of.
func unknown(err error) bool {
	for _, own := range []error{nil, errTooLarge, errNotRegular, fs.ErrNotExist, fs.ErrPermission, syscall.ELOOP} {
		if errors.Is(err, own) {
			return false
		}
	}
	return true
}

// HasConfig reports whether dir has a configuration file at its top level: the layout check of
// spec/runner.md, "Preparation" 1. The error is about dir itself.
func HasConfig(dir string) (bool, error) {
	names, err := list(dir)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	}), nil
}

// dialect selects from the sorted names of all configuration files those that a runtime reads.
type dialect func(names []string) []string

func openTofu(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		base, ext := split(name)
		twin, isTF := map[string]string{".tf": ".tofu", ".tf.json": ".tofu.json"}[ext]
		return isTF && slices.Contains(names, base+twin)
	})
}

func terraform(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, ext := split(name)
		return strings.HasPrefix(ext, ".tofu")
	})
}

// list returns the sorted names of the configuration files in dir, of either runtime. Links
// count, as they do for the runtimes: a mounted Secret is made of them.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && IsConfig(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// IsConfig reports whether one of the runtimes reads a file of this name.
func IsConfig(name string) bool {
	_, ext := split(name)
	return ext != "" && !strings.HasPrefix(name, ".")
}

// split cuts the extension off a configuration file's name; ext is "" for any other name.
func split(name string) (base, ext string) {
	for _, ext := range []string{".tf", ".tf.json", ".tofu", ".tofu.json"} {
		if base, ok := strings.CutSuffix(name, ext); ok {
			return base, ext
		}
	}
	return name, ""
}

func isOverride(name string) bool {
	base, _ := split(name)
	return base == "override" || strings.HasSuffix(base, "_override")
}

func isJSON(name string) bool { return strings.HasSuffix(name, ".json") }

// read returns the content of a regular file that is safe to parse.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return nil, fmt.Errorf("%s: %w", path, errNotRegular)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err == nil && (len(src) > maxFileSize || tooDeep(src)) {
		err = fmt.Errorf("%s: %w", path, errTooLarge)
	}
	return src, err
}

// tooDeep reports whether src may nest deeper than maxDepth, in brackets or in a row of unary
// operators. It does not know strings and comments, which only makes it stricter.
func tooDeep(src []byte) bool {
	depth, unary := 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '-', '!':
			unary++
		case ' ', '\t', '\r', '\n':
			continue
		}
		if c != '-' && c != '!' {
			unary = 0
		}
		if depth > maxDepth || unary > maxDepth {
			return true
		}
	}
	return false
}
