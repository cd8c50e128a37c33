package statesrv_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// hanging is a store that does not answer, as behind a server that hangs.
type hanging struct{ store.Store }

func (hanging) Get(ctx context.Context, _ string) (store.Record, error) {
	<-ctx.Done()
	return store.Record{}, ctx.Err()
}

// A supervisor gets the reason, before it gives up.
func TestReadyWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := statesrv.NewHandler(statesrv.NewStates(hanging{memory.New()}, statesrv.Rules{}), statesrv.HandlerOptions{})
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "has not answered for 5s") {
			t.Errorf("%d %s, want 503 with the reason", w.Code, w.Body)
		}
	})
}
