package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// stateServer is a real state server with one state, prod, for the user ops.
func stateServer(t *testing.T, doc string) http.Handler {
	t.Helper()
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	if _, err := states.Write(t.Context(), "prod", statesrv.WriteRequest{Body: []byte(doc)}); err != nil {
		t.Fatal(err)
	}
	return statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: statesrv.NewOneUser("ops", "s3cr3t-w0rd")})
}
