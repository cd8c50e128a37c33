package statesrv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
)

// RestoreRequest asks to bring back a version.
type RestoreRequest struct {
	Version int
	// ID is that of a lock the caller holds; usually "", for the state must be free.
	ID string
	// Who names the caller in the new version's entry.
	Who string
	By  Caller
}

// Restore stores the content of an old version as a new one, with the serial that
// follows the current one, so that the next apply is not refused. It is refused
// across lineages, while another holds the lock (423), for a version that is
// pruned, and for an opaque one, whose inner serial the server cannot change.
//
// It needs no lock of its own: the check that the state is free and the new
// version are one swap.
func (s *States) Restore(ctx context.Context, name string, req RestoreRequest) (Version, error) {
	ev := s.newEvent(ActionRestore, req.By)
	ev.LockID, ev.Who, ev.Note = clip(req.ID), clip(req.Who), fmt.Sprintf("version %d", req.Version)
	body := &bodyWriter{states: s, name: name}
	h, err := s.change(ctx, name, ev, func(h *head) (bool, error) {
		if err := mayWrite(h.Lock, req.ID, false); err != nil {
			return false, err
		}
		doc, data, err := s.restored(ctx, h, req.Version)
		if err != nil {
			return false, err
		}
		body.set(ctx, data)
		v := s.newVersion(h, doc, ev)
		v.Digest, v.Bytes, v.RestoredFrom = digestOf(data), int64(len(data)), req.Version
		if req.Who != "" {
			v.Who = clip(req.Who)
		}
		v.Operation = string(ActionRestore)
		return true, s.commit(ctx, h, v, body, ev)
	})
	body.settle(ctx, h, err)
	if err != nil {
		return Version{}, err
	}
	return *h.Current, nil
}

// restored returns the content of a version with the serial to restore it by.
func (s *States) restored(ctx context.Context, h *head, number int) (Document, []byte, error) {
	old, err := s.version(ctx, h, number)
	if err != nil {
		return Document{}, nil, err
	}
	switch {
	case old.Opaque:
		return Document{}, nil, conflict("version %d is encrypted by the client, so its serial cannot be changed here: "+
			"pull it, then push it with --force", number)
	case h.Current != nil && h.Current.Lineage != old.Lineage:
		return Document{}, nil, conflict("version %d has lineage %q, the current state has %q: a restore would replace another state; "+
			"to do that, pull the version and push it with --force",
			number, old.Lineage, h.Current.Lineage)
	}
	data, err := s.bytesOf(ctx, h.State, old)
	if err != nil {
		return Document{}, nil, err
	}
	serial, err := s.serialAfter(ctx, h, old)
	if err != nil {
		return Document{}, nil, err
	}
	return withSerial(data, old, serial)
}

// serialAfter follows the newest version of the same lineage: whoever has read that may
// still be about to write. The state may have been deleted, or another one, since.
func (s *States) serialAfter(ctx context.Context, h *head, old Version) (uint64, error) {
	serial := old.Serial
	for v, err := range s.backwards(ctx, h, 0) {
		if err != nil {
			return 0, err
		}
		if v.Lineage == old.Lineage { // at the latest, old itself
			serial = max(serial, v.Serial)
			break
		}
	}
	if serial == math.MaxUint64 {
		return 0, conflict("serial %d is the largest there is, so no version can follow it: push one with --force", serial)
	}
	return serial + 1, nil
}

func (s *States) bytesOf(ctx context.Context, name string, v Version) ([]byte, error) {
	if v.Pruned {
		return nil, goneVersion(name, v.Number)
	}
	c, err := s.open(ctx, name, v)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return io.ReadAll(c)
}

// withSerial replaces the serial in a state's bytes and leaves the rest as it is.
func withSerial(data []byte, old Version, serial uint64) (Document, []byte, error) {
	var at span
	scan(data, func(name string, value span) {
		if name == "serial" {
			at = value
		}
	})
	if at.to == 0 {
		return Document{}, nil, conflict("version %d has no serial", old.Number)
	}
	var b bytes.Buffer
	b.Write(data[:at.from])
	b.WriteString(strconv.FormatUint(serial, 10))
	b.Write(data[at.to:])
	doc, err := ParseDocument(b.Bytes())
	if err == nil && (doc.Serial != serial || doc.Lineage != old.Lineage) {
		err = conflict("version %d has its serial or lineage in several spellings: pull it, repair it, push it", old.Number)
	}
	return doc, b.Bytes(), err
}
