package memory_test

import (
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
	"github.com/captf/captf-runner/runner/statesrv/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() store.Store {
		s := memory.New()
		return func() store.Store { return s }
	})
}
