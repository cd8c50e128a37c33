package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/runner/result"
)

// inherit reads what the result of the earlier local run of this module tells and this run's result would write over: where
// a state is that could not be saved, and resources that no saved state is known to have. A Job leaves its result to the
// one who started it.
func (r *run) inherit() {
	if !r.opts.Local || !r.opts.ownResult {
		return
	}
	document, err := os.ReadFile(r.opts.Result)
	if err != nil {
		return // it is the first run
	}
	earlier, err := result.Decode(document)
	if err != nil {
		return
	}
	r.earlier = earlier.Unsaved
	if s := earlier.State; s != nil && s.Where != "" && s.Saved != result.SavedNormally && s.Saved != result.SavedPushed {
		r.res.State = s // until it is pushed
		if r.inheritedState() == "" {
			r.log.Warn("the state that an earlier run could not save is not where it was put", "where", s.Where)
			r.res.State = nil
		}
	}
}

// disinherit is for a run beside another one that lives: that one's result is no dead one's.
func (r *run) disinherit() { r.earlier, r.res.State = nil, nil }

// inheritedState is the file of the state that the earlier run could not save, when it is outside of the working
// directory; empty when there is none.
func (r *run) inheritedState() string {
	s := r.res.State
	if s == nil || !strings.HasPrefix(filepath.Base(s.Where), rescuedPrefix) || !exists(s.Where) {
		return ""
	}
	return s.Where
}

// settleEarlier drops the resources of the earlier run that the state has now, and tells of the others before anything
// is made.
func (r *run) settleEarlier(ctx context.Context) {
	if r.earlier == nil {
		return
	}
	var left []result.UnsavedResource
	if known, err := r.local.resources(ctx); err == nil {
		left = slices.DeleteFunc(slices.Clone(r.earlier.Resources), known.settled)
	} else {
		left = r.earlier.Resources
	}
	r.update(func(*result.Result) { r.earlier = unsavedOf(left) })
	if r.earlier != nil {
		r.log.Warn("an earlier run began to change resources that no saved state is known to have: look for them, or import them",
			"resources", listUnsettled(left))
	}
}

func unsavedOf(resources []result.UnsavedResource) *result.Unsaved {
	if len(resources) == 0 {
		return nil
	}
	return &result.Unsaved{Count: len(resources), Resources: resources}
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
	all.Resources = slices.Clone(own.Resources)
	for _, u := range earlier.Resources {
		if !slices.Contains(all.Resources, u) {
			all.Count++
			all.Resources = append(all.Resources, u)
		}
	}
	return &all
}

// stateResources are the IDs of the objects in a state, by address. One without an ID has an empty one.
type stateResources map[string][]string

// settled tells whether nobody has to look for a resource any more: the state has it, or else it was to go.
func (s stateResources) settled(u result.UnsavedResource) bool {
	ids, there := s[u.Address]
	return u.Action == "delete" || there && (u.ID == "" || slices.Contains(ids, u.ID))
}

// resources reads the state of a local run.
func (l *local) resources(ctx context.Context) (stateResources, error) {
	content, err := l.states.Read(ctx, l.name)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	var document struct {
		Resources []struct {
			Module, Mode, Type, Name string
			Instances                []struct {
				IndexKey   any `json:"index_key"`
				Attributes struct{ ID any }
			}
		}
	}
	if err := json.NewDecoder(content).Decode(&document); err != nil {
		return nil, err
	}
	found := stateResources{}
	for _, r := range document.Resources {
		address := strings.TrimPrefix(r.Module+"."+r.Type+"."+r.Name, ".")
		for _, i := range r.Instances {
			id, _ := i.Attributes.ID.(string)
			key := address + indexOf(i.IndexKey)
			found[key] = append(found[key], id)
		}
	}
	return found, nil
}

// indexOf is how an address shows a key of for_each or a number of count.
func indexOf(key any) string {
	switch key := key.(type) {
	case string:
		return "[" + strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(key)) + "]"
	case float64:
		return "[" + strconv.Itoa(int(key)) + "]"
	}
	return ""
}
