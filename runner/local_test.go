package runner

import (
	"bytes"
	"sync"
	"testing"
)

// TestOwnPlanKeyIsOne has many local runs be the first one at once: a hash of any is good for all.
func TestOwnPlanKeyIsOne(t *testing.T) {
	for range 50 {
		l := &local{dir: t.TempDir()}
		keys := make([][]byte, 8)
		var wg sync.WaitGroup
		for i := range keys {
			wg.Go(func() {
				var err error
				if keys[i], err = l.ownPlanKey(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, key := range keys {
			if !bytes.Equal(key, keys[0]) {
				t.Fatalf("keys %q", keys)
			}
		}
	}
}
