package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

const logKey = "state/events.jsonl"

func testLog(t *testing.T, s store.Store) {
	ctx, log := t.Context(), store.LogOf(s)
	if got := lines(t, log, ""); len(got) != 0 {
		t.Errorf("an empty log has lines %q", got)
	}
	if last, err := log.Last(ctx, logKey, 3); err != nil || len(last) != 0 {
		t.Errorf("last of an empty log = %v, %v", last, err)
	}
	if err := log.Sync(ctx, logKey); err != nil {
		t.Errorf("sync of an empty log: %v", err)
	}
	long := strings.Repeat("x", 100<<10) // longer than any scanner's buffer
	want := []string{"one", "two", long, "four"}
	for _, line := range want {
		if err := log.Append(ctx, logKey, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Sync(ctx, logKey); err != nil {
		t.Errorf("sync: %v", err)
	}
	if got := texts(lines(t, log, "")); !slices.Equal(got, want) {
		t.Errorf("log has %d lines, want %d in order", len(got), len(want))
	}
	for i, line := range lines(t, log, "") {
		if got := texts(lines(t, log, line.After)); !slices.Equal(got, want[i+1:]) {
			t.Errorf("behind line %d there are %d lines, want %d", i, len(got), len(want)-i-1)
		}
	}
	for n := range len(want) + 2 {
		last, err := log.Last(ctx, logKey, n)
		if got := texts(last); err != nil || !slices.Equal(got, want[max(0, len(want)-n):]) {
			t.Errorf("last %d = %d lines, %v", n, len(got), err)
		}
	}
}

func testLogRace(t *testing.T, open func() store.Store) {
	const writers, times = 8, 10
	handles := []store.Log{store.LogOf(open()), store.LogOf(open())}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range times {
				if err := handles[w%2].Append(t.Context(), logKey, fmt.Appendf(nil, "%d-%d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	got := texts(lines(t, handles[0], ""))
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != writers*times {
		t.Errorf("log has %d distinct lines, want %d", len(got), writers*times)
	}
}

func lines(t *testing.T, log store.Log, after store.Cursor) []store.Line {
	t.Helper()
	var all []store.Line
	for line, err := range log.Lines(t.Context(), logKey, after) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

func texts(lines []store.Line) []string {
	var all []string
	for _, line := range lines {
		all = append(all, string(line.Data))
	}
	return all
}
