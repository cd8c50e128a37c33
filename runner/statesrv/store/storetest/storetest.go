// Package storetest is the suite that every engine of package store has to pass.
// Start with [Run].
package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Place makes an empty place for records and returns a function that opens it.
// Each call of that gives another handle, as another process would have, if the
// engine has such a thing. Places and handles are closed by t.Cleanup.
type Place func(t *testing.T) (open func() store.Store)

// Run runs the whole suite on places of one engine.
func Run(t *testing.T, place Place) {
	t.Run("Basics", func(t *testing.T) { testBasics(t, place(t)()) })
	t.Run("Values", func(t *testing.T) { testValues(t, place(t)()) })
	t.Run("Keys", func(t *testing.T) { testKeys(t, place(t)()) })
	t.Run("List", func(t *testing.T) { testList(t, place(t)()) })
	t.Run("Cancelled", func(t *testing.T) { testCancelled(t, place(t)()) })
	t.Run("Reopen", func(t *testing.T) { testReopen(t, place(t)) })
	t.Run("Proof", func(t *testing.T) { testProof(t, place(t)()) })
	t.Run("CreateRace", func(t *testing.T) { testCreateRace(t, place(t)) })
	t.Run("SwapRace", func(t *testing.T) { testSwapRace(t, place(t)) })
	t.Run("Counter", func(t *testing.T) { testCounter(t, place(t)) })
	t.Run("Model", func(t *testing.T) { testModel(t, place(t)()) })
	t.Run("Log", func(t *testing.T) { testLog(t, place(t)()) })
	t.Run("LogRace", func(t *testing.T) { testLogRace(t, place(t)) })
}

func testBasics(t *testing.T, s store.Store) {
	ctx := t.Context()
	const key = "state/head.json"
	wantErr(t, "get of nothing", store.ErrNotFound)(s.Get(ctx, key))
	wantErr(t, "open of nothing", store.ErrNotFound)(store.Open(ctx, s, key))
	wantErr(t, "swap of nothing", store.ErrNotFound)(s.Swap(ctx, key, "x", []byte("v")))

	first := must(s.Create(ctx, key, []byte("one")))(t)
	wantErr(t, "second create", store.ErrExists)(s.Create(ctx, key, []byte("two")))
	wantRecord(t, s, key, "one", first)

	second := must(s.Swap(ctx, key, first, []byte("two")))(t)
	wantErr(t, "stale swap", store.ErrConflict)(s.Swap(ctx, key, first, []byte("three")))
	wantRecord(t, s, key, "two", second)
	if first == second {
		t.Errorf("two values have one revision %q", first)
	}

	for range 2 { // removing what is absent is no error
		if err := s.Remove(ctx, key); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	wantErr(t, "get after remove", store.ErrNotFound)(s.Get(ctx, key))
	wantErr(t, "swap after remove", store.ErrNotFound)(s.Swap(ctx, key, second, []byte("four")))
}

func testValues(t *testing.T, s store.Store) {
	big := make([]byte, 4<<20)
	_, _ = rand.Read(big)
	for name, value := range map[string][]byte{
		"empty": {}, "zero": {0}, "binary": {0xff, 0, '\n', '\r', 0xc3}, "big": big,
	} {
		given := bytes.Clone(value)
		must(s.Create(t.Context(), name, given))(t)
		for i := range given { // the store must not keep the caller's slice
			given[i]++
		}
		rec := must(s.Get(t.Context(), name))(t)
		if !bytes.Equal(rec.Data, value) {
			t.Errorf("%s: get gives other bytes", name)
		}
		body := must(store.Open(t.Context(), s, name))(t)
		data, err := io.ReadAll(body)
		if err != nil || !bytes.Equal(data, value) || body.Size != int64(len(value)) {
			t.Errorf("%s: open gives %d bytes and size %d, %v; want %d", name, len(data), body.Size, err, len(value))
		}
		if err := body.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}

func testKeys(t *testing.T, s store.Store) {
	ctx := t.Context()
	long := strings.Repeat("k", store.MaxSegment)
	keys := []string{"a", "A", "a.b", "a-b", "a_b", "a%2Fb", "b/c", "b%2Fc", long, "d/e/f/g/h/i/j/k", "d/" + long}
	for _, key := range keys {
		must(s.Create(ctx, key, []byte(key)))(t)
	}
	for _, key := range keys {
		if rec := must(s.Get(ctx, key))(t); string(rec.Data) != key {
			t.Errorf("record %q has the value of %q", key, rec.Data)
		}
	}
	for _, key := range []string{"", "..", "../x", "a/../b", "/etc/passwd", ".hidden", "a//b", "x\x00y", long + "k"} {
		wantErr(t, "get "+key, store.ErrKey)(s.Get(ctx, key))
		wantErr(t, "create "+key, store.ErrKey)(s.Create(ctx, key, nil))
		wantErr(t, "swap "+key, store.ErrKey)(s.Swap(ctx, key, "r", nil))
		if err := s.Remove(ctx, key); !errors.Is(err, store.ErrKey) {
			t.Errorf("remove %q: %v, want ErrKey", key, err)
		}
	}
}

func testList(t *testing.T, s store.Store) {
	ctx := t.Context()
	if got := list(t, s, ""); len(got) != 0 {
		t.Errorf("an empty store lists %q", got)
	}
	for _, key := range []string{"b/head", "a/versions/2", "a/versions/1", "a/head", "a-b/head", "aa/head"} {
		must(s.Create(ctx, key, []byte(key)))(t)
	}
	for dir, want := range map[string][]string{
		"": {"a", "a-b", "aa", "b"}, "a": {"head", "versions"}, "a/versions": {"1", "2"}, "nothing": nil,
	} {
		if got := list(t, s, dir); !slices.Equal(got, want) {
			t.Errorf("list %q = %q, want %q", dir, got, want)
		}
	}
	for range s.List(ctx, "") {
		break // must not go on
	}
}

func testCancelled(t *testing.T, s store.Store) {
	first := must(s.Create(t.Context(), "a", []byte("one")))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, "get", context.Canceled)(s.Get(ctx, "a"))
	wantErr(t, "create", context.Canceled)(s.Create(ctx, "b", nil))
	wantErr(t, "swap", context.Canceled)(s.Swap(ctx, "a", first, []byte("two")))
	wantRecord(t, s, "a", "one", first)
	wantErr(t, "get of the cancelled create", store.ErrNotFound)(s.Get(t.Context(), "b"))
}

func testReopen(t *testing.T, open func() store.Store) {
	a := open()
	rev := must(a.Create(t.Context(), "x/y", []byte("one")))(t)
	b := open()
	wantRecord(t, b, "x/y", "one", rev)
	second := must(b.Swap(t.Context(), "x/y", rev, []byte("two")))(t)
	wantRecord(t, a, "x/y", "two", second)
	wantErr(t, "swap by the other handle", store.ErrConflict)(a.Swap(t.Context(), "x/y", rev, []byte("three")))
}

func testProof(t *testing.T, s store.Store) {
	if err := store.Prove(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// wantErr returns a function that takes the results of a call.
func wantErr(t *testing.T, what string, want error) func(any, error) {
	t.Helper()
	return func(_ any, err error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", what, err, want)
		}
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantRecord(t *testing.T, s store.Store, key, data string, rev store.Revision) {
	t.Helper()
	rec, err := s.Get(t.Context(), key)
	if err != nil || string(rec.Data) != data || rec.Revision != rev {
		t.Errorf("%s is %q at %q, %v; want %q at %q", key, rec.Data, rec.Revision, err, data, rev)
	}
}

func list(t *testing.T, s store.Store, dir string) []string {
	t.Helper()
	var names []string
	for name, err := range s.List(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
