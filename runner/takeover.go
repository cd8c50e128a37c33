package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/result"
)

// takeOver claims the directories of local runs that worked beside another one and were killed. Their states are pushed,
// and their lock is released, like those of a run that had the wanted directory.
func (r *run) takeOver(ctx context.Context) error {
	beside, err := neighbours(newWorkspace(r.opts.Workdir).dir)
	if err != nil {
		return err
	}
	for _, w := range beside {
		if w.dir == r.work.dir {
			continue
		}
		err := r.claim(ctx, &w)
		if errors.Is(err, errInUse) {
			continue // its run lives
		}
		if err != nil {
			return err
		}
		r.log.Warn("taking over from a run that was killed", "workdir", w.dir)
		r.legacy.workdirs = append(r.legacy.workdirs, w)
		if err := w.keepErrored(r.log); err != nil {
			return err
		}
	}
	return nil
}

// adoptDeadLock takes the lock that an earlier local run left for one that was handed down. This run has the working
// directories, so every process of the earlier ones is gone; and it is the very lock that one of them asked for.
func (r *run) adoptDeadLock(ctx context.Context) error {
	if r.local == nil || r.stale.id != "" {
		return nil
	}
	ids, err := r.deadLocks()
	if err != nil || len(ids) == 0 {
		return err
	}
	ctx, cancel := r.lookAhead(ctx)
	defer cancel()
	holder, err := r.keeper.Holder(ctx)
	switch {
	case err != nil:
	case holder != nil && slices.Contains(ids, holder.ID):
		r.log.Warn("an earlier run left the state locked: its lock is released first", "holder", holder.String())
		r.stale.id = holder.ID
	default:
		r.forgetDeadLocks()
	}
	return nil
}

// deadLocks are the IDs of the locks that children of earlier runs asked for.
func (r *run) deadLocks() ([]string, error) {
	var ids []string
	for _, w := range r.workspaces() {
		noted, err := os.ReadFile(w.lockNote())
		if err != nil && !isAbsent(err) {
			return nil, fmt.Errorf("the lock that an earlier run may have left: %w: %s", err,
				orMoreFiles(err, "make the folder "+w.dir+" and all in it readable"))
		}
		ids = append(ids, strings.Fields(string(noted))...)
	}
	return ids, nil
}

// forgetDeadLocks is for when no child of an earlier run has the lock, nor ever will.
func (r *run) forgetDeadLocks() {
	for _, w := range r.workspaces() {
		_ = os.Remove(w.lockNote())
	}
}

// takenOver is for when the lock and the states of earlier runs were dealt with: their directories may go.
func (r *run) takenOver() {
	if r.local == nil {
		return
	}
	if u := r.report.Lock.ForceUnlock; u != nil && u.Outcome != result.OutcomeUnsupported {
		r.forgetDeadLocks()
	}
	for i := range r.legacy.workdirs {
		noted, err := isThere(r.legacy.workdirs[i].lockNote())
		r.legacy.workdirs[i].temporary = err == nil && !noted
	}
}

// workspaces are the working directories that this run has: those that it took over, and its own.
func (r *run) workspaces() []workspace { return slices.Concat(r.legacy.workdirs, []workspace{r.work}) }
