//go:build e2e

package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// row is what became of one fault.
type row struct {
	fault, runtime string
	first          string // how the Job that was hit ended
	lock           string // the verdict afterwards
	next           string // how the next Job ended
	unlock         string // what the hand-down did
}

// table collects rows, and is printed when all tests have run.
type table struct {
	mu   sync.Mutex
	rows []row
}

var report table

func (t *table) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

func (t *table) print() {
	if len(t.rows) == 0 {
		return
	}
	slices.SortStableFunc(t.rows, func(a, b row) int { return strings.Compare(a.fault+a.runtime, b.fault+b.runtime) })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nFAULT\tRUNTIME\tTHE JOB\tLOCK\tHANDED DOWN\tTHE NEXT JOB")
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.fault, r.runtime, r.first, r.lock, r.unlock, r.next)
	}
	w.Flush()
}
