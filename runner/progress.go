package runner

import (
	"fmt"
	"sync"
	"time"

	"github.com/captf/captf-runner/runner/runtime"
)

// How often the progress of a step is told: on a terminal, and in a log.
const (
	liveInterval = time.Second
	logInterval  = 10 * time.Second
)

// progress counts a step's changes from its -json stream.
type progress struct {
	planned int // when a saved plan is applied; else the stream says it

	mu      sync.Mutex
	total   int
	done    int
	running []runningChange // oldest first
}

type runningChange struct {
	address string
	since   time.Time
}

// see takes one event into account.
func (p *progress) see(e runtime.Event, sofar *runtime.Output) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = max(p.planned, len(sofar.Planned))
	if !e.ChangesResource() {
		return
	}
	address := e.Hook.Resource.Addr
	if e.Starts() {
		p.running = append(p.running, runningChange{address, time.Now()})
		return
	}
	for i, r := range p.running {
		if r.address == address {
			p.running = append(p.running[:i], p.running[i+1:]...)
			p.done++
			return
		}
	}
}

// text is the progress in one line, empty while nothing is being changed.
func (p *progress) text(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.running) == 0 {
		return ""
	}
	oldest := p.running[0]
	return fmt.Sprintf("%d of %d done, %d running (%s %s)",
		p.done, max(p.total, p.done+len(p.running)), len(p.running), oldest.address, now.Sub(oldest.since).Round(time.Second))
}

// tell shows the progress until the returned function is called: as a live line on a terminal, else
// as a line of the log at most every 10 s, and as an event.
func (r *run) tell(p *progress) (end func()) {
	interval := logInterval
	if r.console.terminal {
		interval = liveInterval
	}
	ticker := time.NewTicker(interval)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case now := <-ticker.C:
				r.tellOnce(p.text(now))
			case <-stop:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(stop)
		wg.Wait()
		r.console.Live("")
	}
}

func (r *run) tellOnce(text string) {
	switch {
	case r.console.terminal:
		r.console.Live(text)
	case text != "":
		r.console.Print(text)
		r.notify("Progress", text)
	}
}
