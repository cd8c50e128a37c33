package settle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// hung takes each write and never answers; it can be read.
type hung struct{ puts int }

func (h *hung) Put(context.Context, Write) (store.Revision, error) {
	h.puts++
	time.Sleep(patience)
	return "", errors.New("no answer")
}

func (h *hung) Look(context.Context, string) (Object, error) { return Object{}, nil }
func (h *hung) AnswerOf(error) Answer                        { return Unclear }
func (h *hung) Explain(err error) error                      { return err }

// TestHungWrite: a write that has waited long is not sent again.
func TestHungWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{}
		if _, err := Do(t.Context(), h, Create("key", nil)); !errors.Is(err, store.ErrUnknown) || h.puts != 1 {
			t.Errorf("%d times sent, and %v; want one, and an unknown outcome", h.puts, err)
		}
	})
}
