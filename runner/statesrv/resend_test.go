package statesrv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// Something between server and store may send a swap twice: the first is done, the
// second is refused, and before the answer arrives another writer has built upon
// it. The write was accepted all the same, and its bytes must stay.
func TestASwapThatIsSentTwice(t *testing.T) {
	s := &hooked{Store: memory.New()}
	states, other := statesrv.NewStates(s, statesrv.Rules{}), statesrv.NewStates(s.Store, statesrv.Rules{})
	mustWrite(t, states, "s", "", doc(1, "l"))
	s.swap = func(_ string, do func() (store.Revision, error)) (store.Revision, error) {
		s.swap = nil
		if _, err := do(); err != nil {
			t.Error(err)
		}
		mustWrite(t, other, "s", "", doc(3, "l"))
		return do()
	}
	w, err := states.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(2, "l"))})
	if err != nil || w.Version.Number != 2 {
		t.Errorf("write: version %d, %v; want 2", w.Version.Number, err)
	}
	if got, err := read(states.ReadVersion(t.Context(), "s", 2)); got != doc(2, "l") {
		t.Errorf("version 2 is %q, %v", got, err)
	}
	wantHistory(t, states, "s", 3)
}

// If it cannot be read which of the two it was, the bytes must stay as well.
func TestASwapThatIsSentTwiceAndCannotBeRead(t *testing.T) {
	s := &hooked{Store: memory.New()}
	blind := &blindable{Store: s}
	states := statesrv.NewStates(blind, statesrv.Rules{})
	mustWrite(t, states, "s", "", doc(1, "l"))
	s.swap = func(_ string, do func() (store.Revision, error)) (store.Revision, error) {
		s.swap = nil
		blind.now = true
		if _, err := do(); err != nil {
			t.Error(err)
		}
		return do()
	}
	_, err := states.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(2, "l"))})
	if !errors.Is(err, store.ErrUnknown) || statusOf(err) != 0 {
		t.Errorf("write: %v, want ErrUnknown", err)
	}
	blind.now = false
	wantHistory(t, states, "s", 2)
}

// blindable is a store that cannot be read for a while.
type blindable struct {
	store.Store
	now bool
}

func (b *blindable) Get(ctx context.Context, key string) (store.Record, error) {
	if b.now {
		return store.Record{}, errors.New("connection cut")
	}
	return b.Store.Get(ctx, key)
}
