package cli

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/captf/captf-runner/runner/launch"
)

// A log that does not end although its pod has, as that of a node that is gone, is given up.
func TestDrainOfALogWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		l := &podLog{pod: "p", ended: ended, cancel: sync.OnceFunc(func() { close(ended) })}
		l.drain(t.Context(), launch.Run{})
		if l.running() {
			t.Error("it is still followed")
		}
	})
}
