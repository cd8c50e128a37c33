package store_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

func TestProveAcceptsAStoreThatEnforcesItsConditions(t *testing.T) {
	s := memory.New()
	if err := store.Prove(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for name, err := range s.List(t.Context(), "%probe") {
		t.Errorf("left behind %q, %v", name, err)
	}
}

// lacking has no right to remove, or none to list.
type lacking struct {
	store.Store
	remove, list error
}

func (l lacking) Remove(ctx context.Context, key string) error {
	return errors.Join(l.remove, l.Store.Remove(ctx, key))
}

func (l lacking) List(ctx context.Context, dir string) iter.Seq2[string, error] {
	if l.list == nil {
		return l.Store.List(ctx, dir)
	}
	return func(yield func(string, error) bool) { yield("", l.list) }
}

func TestProveFindsMissingRights(t *testing.T) {
	missing := errors.New("no access")
	for name, s := range map[string]store.Store{
		"remove": lacking{Store: memory.New(), remove: missing},
		"list":   lacking{Store: memory.New(), list: missing},
	} {
		if err := store.Prove(t.Context(), s); !errors.Is(err, missing) {
			t.Errorf("%s: %v, want %v", name, err, missing)
		}
	}
}

// careless overwrites whatever is there, as a server that ignores the headers.
type careless struct {
	store.Store
	ignoreCreate, ignoreSwap bool
}

func (c careless) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	rev, err := c.Store.Create(ctx, key, data)
	if c.ignoreCreate && errors.Is(err, store.ErrExists) {
		return c.overwrite(ctx, key, data)
	}
	return rev, err
}

func (c careless) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	if c.ignoreSwap {
		return c.overwrite(ctx, key, data)
	}
	return c.Store.Swap(ctx, key, old, data)
}

func (c careless) overwrite(ctx context.Context, key string, data []byte) (store.Revision, error) {
	for {
		rec, err := c.Get(ctx, key)
		if err != nil {
			return "", err
		}
		rev, err := c.Store.Swap(ctx, key, rec.Revision, data)
		if !errors.Is(err, store.ErrConflict) {
			return rev, err
		}
	}
}

func TestProveRefusesAStoreThatIgnoresConditions(t *testing.T) {
	for says, s := range map[string]careless{
		"32 of 32 creations": {memory.New(), true, false},
		"32 of 32 swaps":     {memory.New(), false, true},
	} {
		err := store.Prove(t.Context(), s)
		if !errors.Is(err, store.ErrUnproven) || !strings.Contains(err.Error(), says) {
			t.Errorf("error = %v, want ErrUnproven with %q", err, says)
		}
	}
}

type broken struct{ store.Store }

var errBroken = errors.New("broken")

func (broken) Create(context.Context, string, []byte) (store.Revision, error) { return "", errBroken }

func TestProveTellsAFaultFromAMissingPromise(t *testing.T) {
	err := store.Prove(t.Context(), broken{memory.New()})
	if !errors.Is(err, errBroken) || errors.Is(err, store.ErrUnproven) {
		t.Errorf("error = %v, want the store's own", err)
	}
}
