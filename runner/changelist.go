package runner

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// lister leaves the list of all that a step is going to change where it outlives the run, as soon as the step knows it.
// A result has room for a few dozen resources, and that of a pod whose node is lost is lost as well: what was made and is
// in no saved state is found by this list then. It is written once, since a ConfigMap may only be created, and beside the
// step, which it never holds up.
type lister struct {
	run     *run
	step    step
	places  []shelf
	ctx     context.Context
	cancel  context.CancelFunc
	writing sync.WaitGroup
}

func (r *run) newLister(ctx context.Context, s step) *lister {
	l := &lister{run: r, step: s, places: r.shelves()}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// list begins to write the list.
func (l *lister) list(planned []runtime.Change) {
	if !l.step.changes {
		return
	}
	l.writing.Go(func() {
		list := l.run.changeList(l.step.name, planned)
		if len(list.Resources) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, lookTimeout)
		defer cancel()
		if where := l.run.keep(ctx, l.places, changesDocument, list.Encode(maxDocument)); where != "" {
			l.run.report.setListed(where)
		}
	})
}

// end is for when the step has ended: nobody needs a list any more that is not written yet.
func (l *lister) end() {
	l.cancel()
	l.writing.Wait()
}

// changeList picks what is really going to be changed, without secrets.
func (r *run) changeList(step string, planned []runtime.Change) result.ChangeList {
	list := result.ChangeList{Op: string(r.opts.Op), Step: step}
	for _, c := range planned {
		switch c.Action {
		case plan.Create, plan.Update, plan.Replace, plan.Delete:
			list.Resources = append(list.Resources, result.Change{Address: r.redact.String(c.Resource.Addr), Action: c.Action})
		}
	}
	return list
}

// setListed has the result name the list, as long as it has unsaved resources.
func (rp *report) setListed(where string) {
	rp.update(func(res *result.Result) {
		rp.listed = where
		if u := res.Unsaved; u != nil {
			named := *u
			named.Planned = where
			res.Unsaved = &named
		}
	})
	rp.saveSoon()
}

// dropLists removes the lists of earlier local runs once nothing of them is unsaved.
func (r *run) dropLists() {
	if r.report.Unsaved != nil || r.report.earlier != nil || r.rt == nil {
		return
	}
	for _, path := range r.legacy.lists {
		if filepath.Dir(path) == filepath.Join(r.local.dir, resultsDir) {
			_ = os.Remove(path)
		}
	}
}

// discardList removes a list that turned out not to be needed. One in a ConfigMap stays as long as its Job: the runner
// may not delete it.
func (r *run) discardList() {
	if filepath.IsAbs(r.report.listed) && r.report.Unsaved == nil {
		if err := os.Remove(r.report.listed); err != nil {
			r.log.Warn("the list of changes could not be removed", "error", err)
		}
	}
}
