package runner

import (
	"testing"
	"testing/synctest"
	"time"
)

// The pauses between two tries of init grow, and are none of them nothing, however long a try takes: a registry that
// answers only after minutes needs them most.
func TestInitPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pauses := initPauses()
		for attempt := range DefaultInitRetries {
			time.Sleep(10 * time.Minute)
			if pause := pauses.NextBackOff(); pause < time.Second/2 || pause > 23*time.Second {
				t.Errorf("pause %s after attempt %d", pause, attempt+1)
			}
		}
	})
}
