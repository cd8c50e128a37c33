package store_test

import (
	"context"
	"errors"
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

// careless overwrites whatever is there, as a server that ignores the headers.
type careless struct {
	store.Store
	ignoreCreate, ignoreSwap bool
}

func (c careless) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if c.ignoreCreate {
		_ = c.Remove(ctx, key)
	}
	return c.Store.Create(ctx, key, data)
}

func (c careless) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	if c.ignoreSwap {
		rec, err := c.Get(ctx, key)
		if err != nil {
			return "", err
		}
		old = rec.Revision
	}
	return c.Store.Swap(ctx, key, old, data)
}

func TestProveRefusesAStoreThatIgnoresConditions(t *testing.T) {
	for name, s := range map[string]careless{
		"create": {memory.New(), true, false},
		"swap":   {memory.New(), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := store.Prove(t.Context(), s); !errors.Is(err, store.ErrUnproven) {
				t.Errorf("error = %v, want ErrUnproven", err)
			}
		})
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
