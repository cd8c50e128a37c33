package statesrv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// The files for people, beside the records of a store.Plain.
const (
	stateFile    = "state.tfstate"
	lockFile     = "lock.json"
	versionsFile = "versions.json"

	// versions.json is an array with one entry a line. Its end is replaced to add
	// an entry, so a write costs the same however long the file is.
	arrayEnd = "\n]\n"
	// lineRoom is more than the longest line of versions.json.
	lineRoom = 16 << 10
)

// mirror makes the files for people say what the head says.
func (s *States) mirror(ctx context.Context, name string) error {
	return s.withFiles(ctx, name, func(f store.Files, h *head) error {
		_, err := mirrorLock(f, h)
		return errors.Join(err, s.mirrorVersions(ctx, f, h))
	})
}

// withFiles calls do with the files for people, if the store has any. The head is read
// while nobody else has the files, so the last of several writers is right.
func (s *States) withFiles(ctx context.Context, name string, do func(store.Files, *head) error) error {
	if s.plain == nil {
		return nil
	}
	return s.plain.Files(ctx, dirOf(name), func(f store.Files) error {
		h, _, err := s.load(ctx, name)
		if err != nil {
			return err
		}
		return do(f, h)
	})
}

// mirrorLock makes lock.json right and reports whether it was not.
func mirrorLock(f store.Files, h *head) (changed bool, err error) {
	have, err := f.Tail(lockFile, maxLockBody*2)
	if err != nil {
		return false, err
	}
	switch {
	case h.Lock == nil && have == nil:
		return false, nil
	case h.Lock == nil:
		return true, f.Remove(lockFile)
	}
	want, err := encode(h.Lock.Info)
	if err != nil {
		return false, err
	}
	want = append(want, '\n')
	if bytes.Equal(have, want) {
		return false, nil
	}
	return true, f.Put(lockFile, want)
}

// mirrorVersions writes the bytes first: the end of versions.json tells up to
// which version the files are right.
func (s *States) mirrorVersions(ctx context.Context, f store.Files, h *head) error {
	if h.Current == nil {
		if err := f.Remove(stateFile); err != nil {
			return err
		}
	}
	last, err := mirrored(f)
	if err != nil || last == h.Last {
		return err
	}
	if h.Current != nil {
		if err := linkState(f, h); err != nil {
			return err
		}
	}
	return s.listVersions(ctx, f, h, last)
}

// linkState makes the current bytes state.tfstate. It is a second name of their
// file, so it costs nothing, however large they are.
func linkState(f store.Files, h *head) error {
	return f.Link(versionsDir+"/"+h.Current.Body, stateFile)
}

// mirrored returns the number of the last entry in versions.json, 0 if there is
// none that can be read.
func mirrored(f store.Files) (int, error) {
	end, err := f.Tail(versionsFile, lineRoom)
	if err != nil {
		return 0, err
	}
	end, ok := bytes.CutSuffix(end, []byte(arrayEnd))
	if !ok {
		return 0, nil
	}
	var v Version
	if err := json.Unmarshal(end[bytes.LastIndexByte(end, '\n')+1:], &v); err != nil {
		return 0, nil
	}
	return v.Number, nil
}

// listVersions adds the entries after last to versions.json, or writes it anew.
func (s *States) listVersions(ctx context.Context, f store.Files, h *head, last int) error {
	if last > 0 && last < h.Last {
		added, err := s.entryLines(ctx, h, last)
		if err != nil {
			return err
		}
		return f.Extend(versionsFile, arrayEnd, []byte(",\n"+added+arrayEnd))
	}
	all, err := s.entryLines(ctx, h, 0)
	if err != nil {
		return err
	}
	return f.Put(versionsFile, []byte("[\n"+all+arrayEnd))
}

// entryLines returns the entries after number last, oldest first.
func (s *States) entryLines(ctx context.Context, h *head, last int) (string, error) {
	var lines [][]byte
	for v, err := range s.backwards(ctx, h, 0) {
		if err != nil {
			return "", err
		}
		if v.Number <= last {
			break
		}
		line, err := encode(v)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	var b bytes.Buffer
	for i := len(lines) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "  %s", lines[i])
		if i > 0 {
			b.WriteString(",\n")
		}
	}
	return b.String(), nil
}
