package s3

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/settle"
)

// overwrite is another writer that swaps the object as soon as it is written.
func overwrite(b *bucket, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[key] = fakeObject{[]byte("theirs"), "their-etag", "their-id"}
}

// TestLostAnswers goes through what can happen to the answer of a write.
func TestLostAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		faults
		create error // want
		swap   error
		puts   int // of one write
	}{
		"done, then 503":               {faults{lost: 1}, nil, nil, 1},
		"done, then cut":               {faults{cut: 1}, nil, nil, 1},
		"sent twice":                   {faults{twice: 1}, nil, nil, 1},
		"busy":                         {faults{busy: 2}, nil, nil, 3},
		"not done, then 503":           {faults{dropped: 2}, nil, nil, 3},
		"not done, then lost":          {faults{dropped: 1, lost: 1}, nil, nil, 2},
		"busy without end":             {faults{busy: 99}, store.ErrUnknown, store.ErrUnknown, settle.Tries},
		"503 without end":              {faults{dropped: 99}, store.ErrUnknown, store.ErrUnknown, settle.Tries},
		"not readable":                 {faults{lost: 1, noHead: true}, store.ErrUnknown, store.ErrUnknown, 1},
		"done, lost, then overwritten": {faults{lost: 1, then: overwrite}, store.ErrUnknown, store.ErrUnknown, 1},
		"not done, then another's":     {faults{dropped: 1, noMetadata: true}, nil, nil, 2},
		"perhaps done, then refused":   {faults{dropped: 1, second: overwrite}, store.ErrUnknown, store.ErrUnknown, 2},
		"perhaps done, then 501":       {faults{dropped: 1, refuse: 501}, store.ErrUnknown, store.ErrUnknown, settle.Tries},
		"busy, then refused":           {faults{busy: 1, second: overwrite}, store.ErrExists, store.ErrConflict, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			s := openFake(t, f)
			first, err := s.Create(t.Context(), "swap", []byte("first"))
			if err != nil {
				t.Fatal(err)
			}
			f.play(c.faults)
			rev, err := s.Create(t.Context(), "create", []byte("ours"))
			wantWrite(t, s, "create", rev, err, c.create)
			wantPuts(t, f, c.puts)

			f.play(c.faults)
			rev, err = s.Swap(t.Context(), "swap", first, []byte("ours"))
			wantWrite(t, s, "swap", rev, err, c.swap)
			wantPuts(t, f, c.puts)
		})
	}
}

func wantWrite(t *testing.T, s *Store, key string, rev store.Revision, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", key, err, want)
	}
	if err != nil {
		return
	}
	if rec, err := s.Get(t.Context(), key); err != nil || string(rec.Data) != "ours" || rec.Revision != rev {
		t.Errorf("%s is %q at %q, %v; want ours at %q", key, rec.Data, rec.Revision, err, rev)
	}
}

// wantPuts checks how often the write was sent, always as the same write.
func wantPuts(t *testing.T, f *fake, want int) {
	t.Helper()
	if ids := slices.Compact(slices.Clone(f.puts)); len(f.puts) != want || len(ids) != 1 {
		t.Errorf("PUTs with the ids %q, want %d with one id", f.puts, want)
	}
}

// TestRefusals are answers that leave nothing open.
func TestRefusals(t *testing.T) {
	f := &fake{}
	s := openFake(t, f)
	old, err := s.Create(t.Context(), "key", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(t.Context(), "key", old, []byte("two")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		faults
		write func() (store.Revision, error)
		want  error
	}{
		"create, taken":     {faults{}, func() (store.Revision, error) { return s.Create(t.Context(), "key", nil) }, store.ErrExists},
		"create, busy":      {faults{busy: 1}, func() (store.Revision, error) { return s.Create(t.Context(), "key", nil) }, store.ErrExists},
		"swap, stale":       {faults{}, func() (store.Revision, error) { return s.Swap(t.Context(), "key", old, nil) }, store.ErrConflict},
		"swap, busy":        {faults{busy: 1}, func() (store.Revision, error) { return s.Swap(t.Context(), "key", old, nil) }, store.ErrConflict},
		"swap, absent, 412": {faults{}, func() (store.Revision, error) { return s.Swap(t.Context(), "no", old, nil) }, store.ErrNotFound},
		"swap, absent, 404": {faults{absent404: true}, func() (store.Revision, error) { return s.Swap(t.Context(), "no", old, nil) }, store.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			f.play(c.faults)
			if _, err := c.write(); !errors.Is(err, c.want) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			wantPuts(t, f, 1)
		})
	}
}

// TestEqualBytesAreNotOurs: another writer's equal value is no success.
func TestEqualBytesAreNotOurs(t *testing.T) {
	s := openFake(t, &fake{})
	if _, err := s.Create(t.Context(), "body", []byte("same")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "body", []byte("same")); !errors.Is(err, store.ErrExists) {
		t.Errorf("error %v, want ErrExists", err)
	}
}

// TestCallerGone: a write that is done while its caller goes away is a success,
// and one that is not done is not tried again.
func TestCallerGone(t *testing.T) {
	for name, c := range map[string]struct {
		faults
		want error
	}{
		"done":     {faults{cut: 1}, nil},
		"not done": {faults{dropped: 99}, store.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c.then = func(*bucket, string) { cancel() }
			f := &fake{faults: c.faults}
			s := openFake(t, f)
			rev, err := s.Create(ctx, "key", []byte("ours"))
			wantWrite(t, s, "key", rev, err, c.want)
			wantPuts(t, f, 1)
		})
	}
}

// TestNotImplemented: a server without conditions is a fault of the set-up, and
// nothing is tried twice.
func TestNotImplemented(t *testing.T) {
	for _, status := range []int{501, 400} {
		f := &fake{faults: faults{refuse: status}}
		s := openFake(t, f)
		_, err := s.Create(t.Context(), "key", nil)
		if !errors.Is(err, store.ErrUnproven) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%d: error %v, want ErrUnproven", status, err)
		}
		wantPuts(t, f, 1)
	}
}

func TestProof(t *testing.T) {
	for name, c := range map[string]struct {
		faults
		want error
		says string
	}{
		"atomic":                {faults{slow: true}, nil, ""},
		"busy":                  {faults{slow: true, busy: 20}, nil, ""},
		"odd answers":           {faults{slow: true, absent404: true, unquoted: true}, nil, ""},
		"ignores If-None-Match": {faults{ignoreCreate: true}, store.ErrUnproven, "32 of 32 creations"},
		"ignores If-Match":      {faults{ignoreSwap: true}, store.ErrUnproven, "32 of 32 swaps"},
		"check, then write":     {faults{racy: true}, store.ErrUnproven, "of 32 "},
		"501":                   {faults{refuse: 501}, store.ErrUnproven, "does not know them"},
		"drops metadata":        {faults{noMetadata: true}, store.ErrUnknown, "has no metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := store.Prove(t.Context(), openFake(t, &fake{faults: c.faults}))
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("error %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

// TestProofOfTwoEndpoints: each server is atomic alone, but not beside the other.
func TestProofOfTwoEndpoints(t *testing.T) {
	shared := &bucket{objects: map[string]fakeObject{}}
	one := newFake(t, &fake{bucket: shared, faults: faults{slow: true}})
	two := newFake(t, &fake{bucket: shared, faults: faults{slow: true}})
	for _, endpoint := range []string{one, two} {
		if err := store.Prove(t.Context(), open(t, Options{Endpoints: []string{endpoint}})); err != nil {
			t.Errorf("one endpoint: %v", err)
		}
	}
	err := store.Prove(t.Context(), open(t, Options{Endpoints: []string{one, two}}))
	if !errors.Is(err, store.ErrUnproven) {
		t.Errorf("two endpoints: error %v, want ErrUnproven", err)
	}
}
