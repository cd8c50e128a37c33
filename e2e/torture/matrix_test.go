package torture

import (
	"fmt"
	"sync"
	"testing"
)

// TestKillMatrix strikes a run with each fault at each moment. One ordinary run later nothing may be lost.
func TestKillMatrix(t *testing.T) {
	cells := possible()
	if whole {
		printImpossible()
	} else {
		cells = chosen(cells)
	}
	servers := servers{statesrv: startStatesrv(t)}
	var board board
	t.Run("cells", func(t *testing.T) {
		for _, c := range cells {
			if c.fault != stopServer {
				t.Run(c.String(), func(t *testing.T) {
					t.Parallel()
					board.test(t, c, servers)
				})
			}
		}
	})
	// The API server is everybody's: nothing else may run while it is down.
	t.Run("outages", func(t *testing.T) {
		for _, c := range cells {
			if c.fault == stopServer {
				t.Run(c.String(), func(t *testing.T) { board.test(t, c, servers) })
			}
		}
	})
	fmt.Println(board.String())
}

// board counts.
type board struct {
	mu         sync.Mutex
	run, clean int
}

func (b *board) String() string { return fmt.Sprintf("cells run %d, cells clean %d", b.run, b.clean) }

func (b *board) test(t *testing.T, c cell, servers servers) {
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.run++
		if !t.Failed() {
			b.clean++
		}
	})
	newTrial(t, c, servers).test()
}

// test is the whole course of a cell.
func (tr *trial) test() {
	tr.prepare(tr.moment == atInit || tr.task == begins, "")
	if tr.handsDown() {
		tr.store.hold(tr.t, deadID)
	}
	before := tr.account()
	struck := tr.suffer()
	between := tr.settle("after the fault", before, struck)
	tr.checkEnding(struck, between.state)
	tr.checkEnd(between, struck, tr.next())
}

// checkEnd looks at what the last of the runs, an ordinary one, has left: nothing may be lost.
func (tr *trial) checkEnd(before account, runs ...ending) {
	tr.t.Helper()
	state := tr.settle("in the end", before, runs[len(runs)-1]).state
	if !tr.task.reached(state) {
		tr.t.Errorf("the state has %v, which is not what had to be done", state.names())
	}
	tr.checkFiles(state)
	if l := tr.store.held(tr.t); l.Held() {
		tr.t.Errorf("the lock is still held, by %s", l.Info)
	}
	if !tr.t.Failed() {
		return
	}
	for i, run := range runs {
		tr.t.Logf("run %d: exit %d, result %s\n%s", i+1, run.code, run.document, run.log)
	}
}

// checkEnding looks at what the run with the fault says about itself.
func (tr *trial) checkEnding(e ending, state document) {
	tr.t.Helper()
	switch {
	case e.result == nil:
		if !tr.does.kills {
			tr.t.Error("it left no result")
		}
		return
	case e.result.Succeeded() && !tr.task.reached(state):
		tr.t.Errorf("the result reads as success, and the state has %v", state.names())
	}
	if tr.does.kills || tr.does.disk && tr.moment == atResult { // it cannot be written any more
		return
	}
	if e.result.Partial || e.code != e.result.ExitCode() {
		tr.t.Errorf("exit %d, and the result stands for %d, partial %v", e.code, e.result.ExitCode(), e.result.Partial)
	}
}

// printImpossible is the table of what the matrix leaves out.
func printImpossible() {
	for _, c := range combinations() {
		if reason := impossible(c); reason != "" {
			fmt.Printf("cannot exist: %s: %s\n", c, reason)
		}
	}
}
