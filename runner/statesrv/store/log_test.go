package store_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// seeking is a store that counts the names that it had to list.
type seeking struct {
	store.Store
	listed int
}

func (s *seeking) ListAfter(ctx context.Context, dir, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name, err := range s.List(ctx, dir) {
			if name <= after {
				continue
			}
			if s.listed++; !yield(name, err) {
				return
			}
		}
	}
}

// TestOldLog has lines of long ago: the last ones are found without listing all
// that is before them.
func TestOldLog(t *testing.T) {
	s := &seeking{Store: memory.New()}
	const day = 24 * time.Hour
	ages := []time.Duration{3000 * day, 1000 * day, 30 * day, day, time.Hour, time.Second}
	var want []string
	for _, age := range ages {
		name := fmt.Sprintf("log/%020d-x", time.Now().Add(-age).UnixNano())
		if _, err := s.Create(t.Context(), name, []byte(age.String())); err != nil {
			t.Fatal(err)
		}
		want = append(want, age.String())
	}
	for n := range len(want) + 2 {
		s.listed = 0
		lines, err := store.LogOf(s).Last(t.Context(), "log", n)
		var got []string
		for _, line := range lines {
			got = append(got, string(line.Data))
		}
		if err != nil || !slices.Equal(got, want[max(0, len(want)-n):]) {
			t.Errorf("last %d = %q, %v", n, got, err)
		}
		if n == 1 && s.listed != 1 {
			t.Errorf("the last line costs a list of %d names, want 1", s.listed)
		}
	}
	s.listed = 0
	cursor := store.Cursor(fmt.Sprintf("%020d-", time.Now().Add(-2*day).UnixNano()))
	n := 0
	for _, err := range store.LogOf(s).Lines(t.Context(), "log", cursor) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 || s.listed != 3 {
		t.Errorf("%d lines behind the cursor, after a list of %d names; want 3 and 3", n, s.listed)
	}
}
