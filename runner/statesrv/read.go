package statesrv

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Content is the bytes of a version. Read gives its last bytes only after all of
// them have the right digest; otherwise it returns an error that wraps
// ErrDamaged. The caller closes it.
type Content struct {
	Version Version

	name    string
	current bool // it was opened as the current version
	body    store.Body
	sum     hash.Hash
	left    int64
}

// ErrDamaged says that what is stored is not what was written. It does not pass: a
// person has to see to it.
var ErrDamaged = errors.New("the stored bytes are damaged")

// damage is an ErrDamaged in words of its own.
type damage struct{ error }

func damaged(format string, args ...any) error { return damage{fmt.Errorf(format, args...)} }

func (damage) Is(target error) bool { return target == ErrDamaged }

func (d damage) Unwrap() error { return d.error }

// Read returns the current state, or a Refusal with status 404 if there is none.
// Its memory does not depend on the state's size, on a store that streams.
func (s *States) Read(ctx context.Context, name string) (*Content, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	h, _, err := s.load(ctx, name)
	if err == nil {
		err = s.sound(ctx, h)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case h.Deleted:
		return nil, notFound("state %s was deleted; its %d versions are kept and can be restored", name, h.Last)
	case h.Current == nil:
		return nil, notFound("there is no state %s", name)
	}
	return s.openCurrent(ctx, name, *h.Current)
}

// openCurrent opens the version that everybody needs: if it is damaged, the error says how
// to go on.
func (s *States) openCurrent(ctx context.Context, name string, v Version) (*Content, error) {
	c, err := s.open(ctx, name, v)
	if err != nil {
		return nil, goOn(err)
	}
	c.current = true
	return c, nil
}

func goOn(err error) error {
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w; to go on, restore an older version or push the right one with the next serial", err)
	}
	return err
}

// ReadVersion returns the bytes of one version, or a Refusal: 404 if there never
// was one, 410 if its bytes were pruned.
func (s *States) ReadVersion(ctx context.Context, name string, number int) (*Content, error) {
	v, err := s.Version(ctx, name, number)
	if err != nil {
		return nil, err
	}
	if v.Pruned {
		return nil, goneVersion(name, number)
	}
	c, err := s.open(ctx, name, v)
	if errors.Is(err, store.ErrNotFound) {
		if now, again := s.Version(ctx, name, number); again == nil && now.Pruned { // meanwhile
			return nil, goneVersion(name, number)
		}
	}
	return c, err
}

func goneVersion(name string, number int) *Refusal {
	return &Refusal{Status: http.StatusGone,
		Message: fmt.Sprintf("version %d of state %s was pruned: its entry is kept, its bytes are gone", number, name)}
}

func (s *States) open(ctx context.Context, name string, v Version) (*Content, error) {
	body, err := store.Open(ctx, s.store, bodyKey(name, v.Body))
	if errors.Is(err, store.ErrNotFound) {
		return nil, damaged("state %s: the bytes of version %d are missing: %w", name, v.Number, err)
	}
	if err != nil {
		return nil, fmt.Errorf("state %s: bytes of version %d: %w", name, v.Number, err)
	}
	if body.Size != v.Bytes {
		body.Close()
		return nil, fmt.Errorf("state %s, version %d: %w: %d bytes instead of %d", name, v.Number, ErrDamaged, body.Size, v.Bytes)
	}
	return &Content{Version: v, name: name, body: body, sum: sha256.New(), left: v.Bytes}, nil
}

// Read implements io.Reader.
func (c *Content) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.body.Read(p[:min(int64(len(p)), c.left)])
	c.sum.Write(p[:n])
	c.left -= int64(n)
	switch {
	case c.left > 0 && errors.Is(err, io.EOF):
		return 0, c.damaged("they are cut short")
	case c.left == 0 && digestText(c.sum.Sum(nil)) != c.Version.Digest:
		return 0, c.damaged("they have another digest")
	case c.left == 0:
		return n, nil
	}
	return n, err
}

func (c *Content) damaged(how string) error {
	err := fmt.Errorf("state %s, version %d: %w: %s", c.name, c.Version.Number, ErrDamaged, how)
	if c.current {
		return goOn(err)
	}
	return err
}

// Close releases the bytes.
func (c *Content) Close() error { return c.body.Close() }
