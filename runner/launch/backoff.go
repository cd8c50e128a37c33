package launch

import "time"

const (
	firstDelay = time.Minute
	maxDelay   = 10 * time.Minute
)

// Backoff is how long to wait after n failures in a row: min(1m·2^(n−1), 10m).
func Backoff(n int) time.Duration {
	d := firstDelay
	for ; n > 1 && d < maxDelay; n-- {
		d *= 2
	}
	if n < 1 {
		return 0
	}
	return min(d, maxDelay)
}

// failures counts the attempts that failed since the last that did not, and says when the last one ended. What was
// interrupted, blocked or found another plan neither counts nor ends the count. runs are those of one operation,
// inputs and tick, oldest first.
func failures(runs []Run) (n int, last time.Time) {
	for _, r := range runs {
		switch {
		case r.Outcome == nil:
		case r.Outcome.Counts():
			n++
			last = r.FinishedAt
		case r.Outcome.Verdict == Succeeded:
			n = 0
		}
	}
	return n, last
}
