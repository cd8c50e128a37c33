package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/captf/captf-runner/internal/plural"
	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// ending is what a program reads with -o json.
type ending struct {
	Job      string                     `json:"job"`
	ExitCode int                        `json:"exitCode"`
	Outcome  launch.Outcome             `json:"outcome"`
	Outputs  map[string]json.RawMessage `json:"outputs,omitempty"`
	// Sensitive are the names of the outputs that are not shown.
	Sensitive []string `json:"sensitiveOutputs,omitempty"`
}

// finish tells how the run ended, and ends with its exit code.
func (f *follower) finish(ctx context.Context, run launch.Run) error {
	end := ending{Job: run.Name, ExitCode: run.Outcome.ExitCode(), Outcome: *run.Outcome}
	var unread error // because of the cluster, not of the state
	if run.Outcome.Verdict == launch.Succeeded && keepsOutputs(run.Op) {
		outputs, err := f.outputs(ctx)
		if state.ReasonOf(err) == state.Unavailable {
			unread = err
		} else if err != nil {
			f.say("the outputs cannot be read: %v", err)
		}
		end.Outputs, end.Sensitive = visible(outputs)
		defer f.printOutputs(outputs)
	}
	if f.json {
		e := json.NewEncoder(f.Out)
		e.SetEscapeHTML(false)
		_ = e.Encode(end) // Out keeps the error
	} else {
		f.printEnd(run)
	}
	if end.ExitCode != result.ExitDone {
		return Exit{Code: end.ExitCode}
	}
	if unread != nil {
		return Exit{Code: result.ExitFailed, Err: fmt.Errorf("%s succeeded, and its outputs could not be read: %w; %s launch attach %s -n %s prints them",
			run.Op, unread, f.Name(), run.Name, f.object.Identity().Namespace)}
	}
	return nil
}

func keepsOutputs(op naming.Op) bool {
	return op == naming.Apply || op == naming.Refresh || op == naming.Restore
}

// outputs are those of the state.
func (f *follower) outputs(ctx context.Context) (map[string]state.Output, error) {
	id := f.object.Identity()
	api := chunks.API{Secrets: f.launcher.Clients.Secrets, Leases: f.launcher.Clients.Leases}
	set, err := api.Gather(ctx, id)
	if err != nil {
		return nil, err
	}
	sum, err := set.Read(false)
	if err != nil {
		return nil, err
	}
	return sum.Outputs, nil
}

// visible leaves out the values of sensitive outputs.
func visible(outputs map[string]state.Output) (shown map[string]json.RawMessage, hidden []string) {
	shown = map[string]json.RawMessage{}
	for name, o := range outputs {
		if o.Sensitive {
			hidden = append(hidden, name)
		} else {
			shown[name] = o.Value
		}
	}
	slices.Sort(hidden)
	return shown, hidden
}

func (f *follower) printOutputs(outputs map[string]state.Output) {
	if f.json {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		value := "(sensitive)"
		if o := outputs[name]; !o.Sensitive {
			var compact bytes.Buffer
			if json.Compact(&compact, o.Value) == nil {
				value = compact.String()
			}
		}
		fmt.Fprintln(f.Out, table.Printable(name+" = "+value))
	}
}

// printEnd tells a person how it ended.
func (f *follower) printEnd(run launch.Run) {
	o := run.Outcome
	if o.Verdict == launch.Succeeded {
		f.say("%s succeeded%s", run.Op, did(o.Result))
	} else {
		f.say("%s: %s (%s): %s", run.Op, o.Verdict, cmp.Or(o.Reason, f.cause(o)), oneLine(o.Message))
	}
	if o.Result == nil && o.Verdict != launch.Succeeded && f.hindrance != "" {
		f.say("what kept it from its work: %s", f.hindrance)
	}
	if o.Untouched && o.Verdict != launch.Succeeded {
		f.say("the state was not touched")
	}
	if o.Result != nil {
		f.printResult(run, o.Result)
		f.printState(run, o.Result)
	}
}

// oneLine puts a semicolon between the lines that say something.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

func (f *follower) printResult(run launch.Run, r *result.Result) {
	o := run.Outcome
	if r.Plan != nil && (run.Op == naming.Plan || o.Verdict == launch.Blocked || o.Verdict == launch.PlanChanged) {
		f.printPlan(r.Plan)
	}
	if o.Verdict == launch.Blocked {
		f.say("to apply it all the same: %s launch plan prints the plan's hash, and %s launch apply --approve HASH without --guard-deletes applies it", f.Name(), f.Name())
	}
	if r.Drift != nil && r.Drift.Detected {
		f.printChanges(r.Drift.Resources, r.Drift.Truncated)
	}
	if l := r.Lock; l != nil && l.Who != "" && o.Verdict != launch.Succeeded {
		f.printLock(o, l)
	}
	if u := r.Unsaved; u != nil && u.Count > 0 {
		f.say("%d %s may be there without the state knowing: look for them, or import them", u.Count, plural.Of("resource", u.Count))
		for _, resource := range u.Resources {
			f.say("  %s %s %s", resource.Action, resource.Address, resource.ID)
		}
	}
}

// did says what a run changed, as far as it tells.
func did(r *result.Result) string {
	switch {
	case r == nil:
		return ""
	case r.Changes != nil:
		return fmt.Sprintf(": %d added, %d changed, %d destroyed", r.Changes.Add, r.Changes.Change, r.Changes.Destroy)
	case r.Drift != nil && !r.Drift.Detected:
		return ": no drift"
	case r.Drift != nil:
		return fmt.Sprintf(": drift: %d to create, %d to update, %d to replace, %d to delete", r.Drift.Create, r.Drift.Update, r.Drift.Replace, r.Drift.Delete)
	}
	return ""
}

func (f *follower) printPlan(p *result.Plan) {
	f.say("plan: %d to create, %d to update, %d to replace, %d to delete", p.Create, p.Update, p.Replace, p.Delete)
	f.printChanges(p.Resources, p.Truncated)
	if p.Hash != "" { // an apply that only guards deletes has none
		fmt.Fprintln(f.Out, table.Printable(p.Hash)) // the one line for scripts
	}
}

func (f *follower) printChanges(changes []result.Change, truncated bool) {
	for _, c := range changes {
		f.say("  %s %s", c.Action, c.Address)
	}
	if truncated {
		f.say("  and more")
	}
}
