package runner

import (
	"strings"
	"sync"
	"time"

	"github.com/captf/captf-runner/runner/runtime"
)

// lockThreshold is how long both runtimes wait for a lock before they say that they do.
const lockThreshold = 400 * time.Millisecond

// sink prints a step's output, without secrets, and measures how long the step waited for the lock.
type sink struct {
	console  *console
	progress *progress
	opening  func()                  // the step is about to wait for its lock or its state
	locked   func()                  // the step has the lock; called once
	planned  func([]runtime.Change)  // the step knows all that it is going to change; called once
	journal  func([]runtime.Started) // a change to a resource began or ended

	hold bool // text is only worth showing when the step fails

	mu          sync.Mutex
	unopened    bool // it has not shown that it has them
	waitStarted time.Time
	waited      time.Duration
}

func (s *sink) Event(e runtime.Event, sofar *runtime.Output) {
	s.waitLine(e.WaitsForLock())
	switch {
	case e.IsVersion() || e.WaitsForLock():
		s.opens()
	case !e.BeforeLock():
		s.opened()
	}
	if e.HoldsLock() && s.locked != nil {
		s.locked()
		s.locked = nil
	}
	s.progress.see(e, sofar)
	if s.planned != nil && (e.EndsPlan() || e.ChangesResource()) {
		s.planned(sofar.Planned)
		s.planned = nil
	}
	if e.ChangesResource() {
		s.journal(sofar.Changes)
	}
	if text := e.Text(); text != "" {
		s.console.Print(text)
	}
}

func (s *sink) Text(line string) {
	waits := strings.HasPrefix(line, "Acquiring state lock.")
	s.waitLine(waits)
	switch {
	case waits || strings.HasPrefix(line, "Initializing the backend"):
		s.opens()
	case strings.HasPrefix(line, "Initializing "): // the next part of an init
		s.opened()
	}
	if !s.hold {
		s.console.Print(line)
	}
}

// show prints what was held back, as much of it as the output has: a runtime may print more than the runner may hold.
func (s *sink) show(output *runtime.Output) {
	if text := strings.TrimSuffix(output.Text(), "\n"); s.hold && text != "" {
		s.console.Print(text)
	}
}

// waitLine starts or ends the measured wait: the line after the announcement is printed when the lock is
// taken, or refused for good.
func (s *sink) waitLine(begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begins {
		s.waitStarted = time.Now().Add(-lockThreshold)
		return
	}
	s.endWait()
}

func (s *sink) endWait() {
	if !s.waitStarted.IsZero() {
		s.waited += time.Since(s.waitStarted)
		s.waitStarted = time.Time{}
	}
}

// lockWait is what the step spent waiting.
func (s *sink) lockWait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endWait()
	return s.waited
}

// opens is for a step that has to get its lock and its state next.
func (s *sink) opens() {
	s.mu.Lock()
	s.unopened = true
	s.mu.Unlock()
	s.opening()
}

// opened is for a step that has shown that it has both.
func (s *sink) opened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unopened = false
	s.endWait()
}

// waitsForLock tells whether the last thing that the step said is that it waits for the lock.
func (s *sink) waitsForLock() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.waitStarted.IsZero()
}

// stillOpening tells whether the step has shown neither that it has its lock nor that it has its state.
func (s *sink) stillOpening() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unopened
}
