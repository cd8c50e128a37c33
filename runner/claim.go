package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// claimWorkspace takes the working directory. A dry run leaves it alone, whoever is working in it; a second local
// run works beside the first one, and waits for the state's lock like any other.
func (r *run) claimWorkspace(ctx context.Context) error {
	r.work = newWorkspace(r.opts.Workdir)
	if r.opts.DryRun {
		r.work = newWorkspace(filepath.Join(os.TempDir(), "captf-dry-run"))
		return r.work.claimBeside()
	}
	err := r.claim(ctx, &r.work)
	switch {
	case errors.Is(err, errInUse) && r.opts.Local:
		r.disinherit()
		err = r.work.claimBeside()
	case errors.Is(err, errInUse):
		return usagef("%w", err)
	}
	if err != nil || !r.opts.Local {
		return err
	}
	return r.takeOver(ctx)
}

// claim takes a directory, once nothing of an earlier run works in it any more.
func (r *run) claim(ctx context.Context, w *workspace) error {
	err := w.claim()
	if errors.Is(err, errOrphans) {
		return r.awaitOrphans(ctx, w, err)
	}
	return err
}

// awaitOrphans waits for what a killed runner left behind: it saves its state, or leaves it in the directory, and nothing
// may be done before on top of an older one. The wait counts as one for the lock.
func (r *run) awaitOrphans(ctx context.Context, w *workspace, err error) error {
	r.log.Warn("waiting for a process of an earlier run", "error", err, "for at most", r.budget.left().Round(time.Second))
	for errors.Is(err, errOrphans) && r.budget.left() > 0 {
		start := time.Now()
		for _, plugin := range runtime.EndPlugins(w.inUseFile()) {
			r.log.Warn("killed a provider whose runtime was killed: what it was doing is in no state", "name", plugin.Name, "pid", plugin.PID)
		}
		if !r.sleep(ctx, 100*time.Millisecond) {
			return interrupted(r.stop, stepInit, "waiting for a process of an earlier run")
		}
		r.waited(time.Since(start))
		err = w.claim()
	}
	if errors.Is(err, errOrphans) {
		return &failure{kind: result.KindStep, reason: result.ReasonLocked, step: stepInit,
			err: fmt.Errorf("%w, after %s of --lock-timeout: try again when it has ended%s", err, r.budget.total, orKill(w.inUseFile()))}
	}
	return err
}

// orKill is the way out of processes that do not end.
func orKill(inUse string) string {
	var names, pids string
	for _, h := range runtime.HoldersOf(inUse) {
		names += " " + h.Name
		pids += " " + strconv.Itoa(h.PID)
	}
	if pids == "" {
		return ""
	}
	return fmt.Sprintf(", or end it (%s) by `kill%s`", strings.TrimSpace(names), pids)
}
