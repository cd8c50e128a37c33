package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf/captf-runner/internal/plural"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/statesrv"
)

// shownValue is the most that is shown of the value of an output, in bytes. The state has all of it.
const shownValue = 400

// shownVersions is how many versions of the state a local run lists.
const shownVersions = 5

// summarise tells a person at the end of a local run what happened and where the state is.
func (r *run) summarise(ctx context.Context) {
	w := r.host.Out
	fmt.Fprintf(w, "\n%s %s: %s\n", r.opts.Op, r.local.name, r.report.outcome())
	r.printOutputs(w)
	if u := r.report.cleaned().Unsaved; u != nil {
		wayOut := "look for them or import them"
		if foundByNext(u) {
			wayOut = "the next run finds out"
		}
		fmt.Fprintf(w, "changed, and in no saved state as far as is known (%d), %s: %s\n", u.Count, wayOut, listUnsettled(u.Resources))
	}
	if r.local.states == nil {
		return
	}
	page, err := r.local.states.Versions(ctx, r.local.name, 0, shownVersions)
	if err != nil || len(page.Versions) == 0 {
		return
	}
	if r.report.State == nil {
		r.report.State = savedState(page.Versions[0])
	}
	fmt.Fprintf(w, "state: %s\n", r.local.statePath())
	for _, v := range page.Versions {
		fmt.Fprintf(w, "  version %d  serial %d  %s  %s  %d bytes\n",
			v.Number, v.Serial, v.Time.Local().Format("2006-01-02 15:04:05"), operationName(v.Operation), v.Bytes)
	}
	if page.Next != 0 {
		fmt.Fprintf(w, "  and older ones: %d\n", page.Next-1)
	}
}

func savedState(v statesrv.Version) *result.State {
	serial := v.Serial
	return &result.State{Saved: result.SavedNormally, Serial: &serial, Lineage: v.Lineage}
}

func (l *local) statePath() string {
	return filepath.Join(l.dir, statesDir, flat(l.name), "state.tfstate")
}

// operationName shortens what a lock says of its holder: OperationTypeApply is an apply.
func operationName(s string) string {
	if s == "" {
		return "without a lock"
	}
	return strings.ToLower(strings.TrimPrefix(s, "OperationType"))
}

// outcome is the run in one line.
func (rp *report) outcome() string {
	switch {
	case rp.Error != nil && rp.Error.Kind == result.KindBlocked:
		return "blocked, nothing was changed"
	case rp.Error != nil && rp.Error.Kind == result.KindPlanChanged:
		return "the plan changed, nothing was changed"
	case rp.Error != nil:
		return "failed"
	case rp.Drift != nil && !rp.Drift.Detected:
		return "no drift"
	case rp.Drift != nil:
		d := rp.Drift
		return "drift: " + listDrift(d, rp.drifted)
	case rp.Changes != nil:
		c := rp.Changes
		if c.Add+c.Change+c.Destroy+c.Import == 0 {
			return "no changes"
		}
		return fmt.Sprintf("%d added, %d changed, %d destroyed", c.Add, c.Change, c.Destroy)
	case rp.Plan != nil:
		return planned(rp.Plan) + "; hash " + rp.Plan.Hash
	}
	return "done"
}

// planned is a plan in a few words.
func planned(p *result.Plan) string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{p.Create, "to create"}, {p.Update, "to update"}, {p.Replace, "to replace"}, {p.Delete, "to delete"},
		{p.Import, "to import"}, {p.Move, "to move"}, {p.Forget, "to forget"}, {p.OutputChanges, plural.Of("output", p.OutputChanges) + " to change"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(parts) == 0 {
		return "no changes"
	}
	return strings.Join(parts, ", ")
}

// listDrift says what is not as the module wants it, and what the refresh found that somebody else did.
func listDrift(d *result.Drift, outside map[string]string) string {
	const most = 5
	var parts []string
	for _, c := range d.Resources[:min(len(d.Resources), most)] {
		parts = append(parts, c.Address+" ("+drifted(c.Action, outside[c.Address])+")")
	}
	if total := d.Create + d.Update + d.Replace + d.Delete; total > len(parts) {
		parts = append(parts, fmt.Sprintf("and %d more", total-len(parts)))
	}
	return strings.Join(parts, ", ")
}

// drifted is what happened to a resource: by what a refresh found of it, else by what an apply would do to it.
func drifted(wanted, outside string) string {
	switch {
	case outside == plan.Delete:
		return "deleted outside"
	case outside != "":
		return "changed outside"
	case wanted == plan.Create:
		return "missing"
	case wanted == plan.Delete:
		return "not in the module"
	}
	return "not as in the module"
}

func (r *run) printOutputs(w io.Writer) {
	if r.opts.Op == naming.Destroy {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.report.outputs)) {
		value := string(r.report.outputs[name].Value)
		var text string
		if r.report.outputs[name].Sensitive {
			value = "(sensitive)"
		} else if json.Unmarshal(r.report.outputs[name].Value, &text) == nil {
			value = text
		}
		fmt.Fprintf(w, "output %s = %s\n", name, result.Cut(result.Plain(r.redact.String(value)), shownValue))
	}
}
