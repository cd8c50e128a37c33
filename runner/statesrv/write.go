package statesrv

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// WriteRequest is a state to store.
type WriteRequest struct {
	Body []byte
	// ID is that of the caller's lock, "" for none.
	ID string
	// MD5 is what the body's MD5 has to be; nil if the caller did not say.
	MD5 []byte
	// Force leaves out the comparison of serial and lineage, not that of the lock.
	Force bool
	By    Caller
}

// Written is the outcome of a write that was accepted.
type Written struct {
	Version Version `json:"version"`
	// Unchanged: the bytes were stored already, and no version was made.
	Unchanged bool `json:"unchanged"`
}

// Write stores a new version if the rules allow it: the lock rule, then serial
// and lineage.
func (s *States) Write(ctx context.Context, name string, req WriteRequest) (Written, error) {
	doc, bad := req.document()
	ev := s.newEvent(ActionWrite, req.By)
	ev.LockID = clip(req.ID)
	digest := digestOf(req.Body)
	body := &bodyWriter{states: s, name: name, data: req.Body}
	unchanged := false
	h, err := s.change(ctx, name, ev, func(h *head) (bool, error) {
		if err := mayWrite(h.Lock, req.ID, s.rules.RequireLock); err != nil {
			return false, err
		}
		if h.Lock != nil {
			ev.from(h.Lock.Info)
		}
		if bad != nil {
			return false, bad
		}
		var err error
		unchanged, err = follows(h.Current, doc, digest)
		if err != nil && !req.Force || unchanged {
			return false, err
		}
		if gone := s.sound(ctx, h); gone != nil {
			return false, gone
		}
		v := s.newVersion(h, doc, ev)
		v.Digest, v.Bytes = digest, int64(len(req.Body))
		if err != nil {
			v.Forced, ev.Note = true, "forced: "+err.Error()
		}
		return true, s.commit(ctx, h, v, body, ev)
	})
	body.settle(ctx, h, err)
	if err != nil {
		return Written{}, err
	}
	return Written{*h.Current, unchanged}, nil
}

func (r WriteRequest) document() (Document, error) {
	if r.MD5 != nil {
		if sum := md5.Sum(r.Body); !bytes.Equal(sum[:], r.MD5) {
			return Document{}, badRequest("the body does not have the MD5 that Content-MD5 says: it was damaged on its way")
		}
	}
	return ParseDocument(r.Body)
}

// newVersion starts the entry of the version that would follow h.
func (s *States) newVersion(h *head, doc Document, ev *Event) Version {
	v := Version{
		Number: h.Last + 1, Serial: doc.Serial, Lineage: doc.Lineage, Opaque: doc.Opaque,
		Time: ev.Time, Who: ev.By.User,
	}
	if h.Lock != nil {
		info := h.Lock.Info
		v.LockID, v.Who, v.Operation = clip(info.ID), clip(info.Who), clip(info.Operation)
	}
	return v
}

// commit makes v the current version in h; its bytes are stored before.
func (s *States) commit(ctx context.Context, h *head, v Version, body *bodyWriter, ev *Event) error {
	file, err := body.store(ctx, v.Number)
	if err != nil {
		return err
	}
	v.Body = file
	if err := s.flushVersions(ctx, h); err != nil {
		return err
	}
	if h.Recent, err = h.Recent.with(v); err != nil {
		return err
	}
	h.Current, h.Last, h.Deleted = &v, v.Number, false
	ev.made(v)
	ev.Who, ev.Operation = v.Who, v.Operation
	return nil
}

// bodyWriter stores the bytes of a version once, although the number that they
// get may change when another writer gets ahead.
type bodyWriter struct {
	states *States
	name   string
	data   []byte
	number int
	file   string // "" while nothing is stored
}

func (b *bodyWriter) store(ctx context.Context, number int) (string, error) {
	if b.file != "" && b.number == number {
		return b.file, nil
	}
	b.remove(ctx)
	file := bodyName(number)
	err := store.Keep(ctx, b.states.store, bodyKey(b.name, file), b.data)
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrUnknown) {
		// Another writer is at it, or died at it: stay out of its way. What is
		// left behind is swept when nothing refers to it.
		file = fmt.Sprintf("%06d-%s.tfstate", number, strings.ToLower(rand.Text()[:8]))
		err = store.Keep(ctx, b.states.store, bodyKey(b.name, file), b.data)
	}
	if err != nil {
		return "", err
	}
	b.number, b.file = number, file
	return file, nil
}

// set changes the bytes that are to be stored.
func (b *bodyWriter) set(ctx context.Context, data []byte) {
	if !bytes.Equal(b.data, data) {
		b.remove(ctx)
		b.data = data
	}
}

// settle removes bytes that certainly nothing refers to.
func (b *bodyWriter) settle(ctx context.Context, h *head, err error) {
	switch {
	case errors.Is(err, store.ErrUnknown): // the head may refer to them
	case err == nil && h.Current != nil && h.Current.Body == b.file:
	case err != nil && refusalOf(err) == nil && b.named(ctx):
	default:
		b.remove(ctx)
	}
}

// named reports whether the head names the bytes, or may. A disk that has failed can
// have kept the head from being put back.
func (b *bodyWriter) named(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTime)
	defer cancel()
	if b.file == "" {
		return false
	}
	h, _, err := b.states.load(ctx, b.name)
	return err != nil || b.number <= h.Last-len(h.Recent) ||
		slices.ContainsFunc(h.Recent, func(m member[Version]) bool { return m.value.Body == b.file })
}

func (b *bodyWriter) remove(ctx context.Context) {
	if b.file == "" {
		return
	}
	if err := b.states.store.Remove(context.WithoutCancel(ctx), bodyKey(b.name, b.file)); err != nil {
		b.states.rules.Log.Warn("bytes of a write that was not accepted are left behind", "state", b.name, "body", b.file, "error", err)
	}
	b.file = ""
}
