package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
)

// legacy is what earlier local runs of this module left, and this one has taken over to care for.
type legacy struct {
	results  []string    // whose news this run's own result has now
	lists    []string    // of the changes that those runs were going to make
	workdirs []workspace // of runs that were killed
}

// inherit reads what the results of earlier local runs of this module tell and nobody else would tell any more: where
// a state is that could not be saved, and resources that no saved state is known to have. A Job leaves its result to the
// one who started it.
func (r *run) inherit() error {
	if _, err := r.inheritFrom(r.opts.Result); err != nil {
		return err
	}
	beside, err := resultsBeside(r.opts.Result)
	if err != nil {
		return err
	}
	for _, path := range beside {
		told, err := r.inheritFrom(path)
		if err != nil {
			return err
		}
		if told {
			r.legacy.results = append(r.legacy.results, path)
		}
	}
	return nil
}

// inheritFrom reads one result, and reports whether this run tells now of all that it told. One that cannot be read may
// tell of what nobody else does: this run's own must not take its place.
func (r *run) inheritFrom(path string) (told bool, err error) {
	document, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	earlier, err := result.Decode(document)
	if errors.Is(err, result.ErrEmpty) {
		return false, nil // it is the first run
	}
	if err != nil {
		r.log.Warn("what an earlier run left to tell is lost", "result", path, "error", err)
		return false, nil
	}
	if s := earlier.State; s != nil && s.Where != "" && s.Saved != result.SavedNormally && s.Saved != result.SavedPushed {
		if r.report.State != nil {
			return false, nil // one at a time: the next run takes that one
		}
		if err := r.inheritState(s); err != nil {
			return false, err
		}
	}
	r.report.earlier = withEarlier(r.report.earlier, earlier.Unsaved)
	if u := earlier.Unsaved; u != nil && u.Planned != "" {
		r.legacy.lists = append(r.legacy.lists, u.Planned)
	}
	return true, nil
}

// inheritState takes over to tell of a state that an earlier run could not save, until it is pushed. One that still lies
// where the runtime left it is found there.
func (r *run) inheritState(s *result.State) error {
	r.report.State = s
	there, err := isThere(s.Where)
	if err != nil {
		return fmt.Errorf("the state that an earlier run could not save: %w", err)
	}
	if !there {
		r.log.Warn("the state that an earlier run could not save is not where it was put", "where", s.Where)
	}
	if !there || r.report.inheritedState() == "" {
		r.report.State = nil
	}
	return nil
}

// disinherit is for a run beside the one that has the working directory: a state that was kept in there is that one's
// to push.
func (r *run) disinherit() {
	if s := r.report.State; s != nil && filepath.Dir(s.Where) == r.work.dir {
		r.report.forgetInherited()
	}
}

// inheritedState is the file of the state that the earlier run could not save, wherever it was put; empty when there is
// none.
func (rp *report) inheritedState() string {
	s := rp.State
	if s == nil || !isKept(filepath.Base(s.Where)) {
		return ""
	}
	return s.Where
}

// settleEarlier drops the resources of the earlier runs that the state has now, and tells of the others before anything
// is made.
func (r *run) settleEarlier(ctx context.Context) {
	if r.report.earlier == nil {
		return
	}
	left := *r.report.earlier
	if stored, err := r.local.instances(ctx); err == nil {
		left.Resources = slices.DeleteFunc(slices.Clone(left.Resources), func(u result.UnsavedResource) bool { return settled(stored, u) })
	}
	unnamed := left.Count - len(r.report.earlier.Resources)
	left.Count = len(left.Resources) // the others are told of once
	r.report.update(func(*result.Result) {
		if r.report.earlier = &left; left.Count == 0 {
			r.report.earlier = nil
		}
	})
	log := r.log
	if unnamed > 0 {
		r.legacy.lists = nil // they are all that tells of those
		log = log.With("and more, in the list", unnamed, "list", left.Planned)
	}
	if left.Count > 0 || unnamed > 0 {
		log.Warn("an earlier run began to change resources that no saved state is known to have: look for them, or import them",
			"resources", listUnsettled(left.Resources))
	}
}

func listUnsettled(resources []result.UnsavedResource) string {
	names := make([]string, len(resources))
	for i, u := range resources {
		names[i] = u.Address + " (" + u.Action
		if u.ID != "" {
			names[i] += ", id " + u.ID
		}
		names[i] += ")"
	}
	return strings.Join(names, ", ")
}

// withEarlier adds the resources of the earlier run to those of this one.
func withEarlier(own, earlier *result.Unsaved) *result.Unsaved {
	if own == nil || earlier == nil {
		if own == nil {
			return earlier
		}
		return own
	}
	all := *own
	all.Resources, all.Planned = slices.Clone(own.Resources), cmp.Or(own.Planned, earlier.Planned)
	all.Count += max(earlier.Count-len(earlier.Resources), 0) // those that it does not name
	for _, u := range earlier.Resources {
		if !slices.Contains(all.Resources, u) {
			all.Count++
			all.Resources = append(all.Resources, u)
		}
	}
	return &all
}

// settled tells whether nobody has to look for a resource any more: the state has it, or else it was to go.
func settled(stored map[string][]instance, u result.UnsavedResource) bool {
	return u.Action == plan.Delete || slices.ContainsFunc(stored[u.Address], func(i instance) bool { return u.ID == "" || i.is(u.ID) })
}

// instances reads the state of a local run.
func (l *local) instances(ctx context.Context) (map[string][]instance, error) {
	content, err := l.states.Read(ctx, l.name)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	state, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}
	stored, ok := readInstances(state)
	if !ok {
		return nil, errors.New("what is stored is no state of version 4")
	}
	return stored, nil
}
