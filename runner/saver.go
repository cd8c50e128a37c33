package runner

import (
	"sync"
	"time"
)

// savePause is the least time between two saves that events of a step ask for: a burst of changes to
// resources must not keep a core busy that the runtime could use. A save takes a tenth of a millisecond. A resource that
// a provider makes within the pause is named by nothing if everything is killed then: so it is short.
const savePause = 2 * time.Millisecond

// saver saves at once, but not twice within savePause: then it saves once more when that is over.
type saver struct {
	mu   sync.Mutex
	last time.Time
	due  bool // a save will come
}

func (s *saver) soon(save func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due {
		return
	}
	if pause := savePause - time.Since(s.last); pause > 0 {
		s.due = true
		time.AfterFunc(pause, func() { s.now(save) })
		return
	}
	save()
	s.last = time.Now()
}

func (s *saver) now(save func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due {
		save()
		s.due, s.last = false, time.Now()
	}
}

// settle makes sure that no save is going on or will come.
func (s *saver) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = false
}
