package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/result"
)

// row is one step of the life of a state. The rows of a scenario run in order, on one state.
type row struct {
	name    string
	prepare func(t *testing.T, f *fixture)
	op      string
	flags   []string
	code    int
	steps   string
	state   []string // managed resources afterwards; nil: whatever it was
	check   func(t *testing.T, o outcome)
}

var both = []string{"probe_file.first", "probe_file.second"}

// life is the scenario table: the operations as an object sees them from its first apply to its destroy.
var life = []row{
	{
		name: "first apply", op: "apply", steps: "init apply", state: both,
		check: func(t *testing.T, o outcome) {
			wantChanges(t, o, result.Changes{Add: 2})
			if o.result.Runtime.Version == "" || !o.result.Image.ProvidersMirror {
				t.Errorf("version %q, mirror %v", o.result.Runtime.Version, o.result.Image.ProvidersMirror)
			}
		},
	},
	{
		name: "apply without changes", op: "apply", steps: "init apply", state: both,
		check: func(t *testing.T, o outcome) { wantChanges(t, o, result.Changes{}) },
	},
	{
		name: "no drift", op: "drift", steps: "init apply-refresh-only plan", state: both,
		check: func(t *testing.T, o outcome) { wantDrift(t, o, result.Drift{}) },
	},
	{
		name: "plan without changes", op: "plan", steps: "init plan", state: both,
		flags: []string{"--plan-key-file", "plan.key"},
		check: func(t *testing.T, o outcome) {
			if p := o.result.Plan; p == nil || p.Create+p.Update+p.Replace+p.Delete != 0 || !strings.HasPrefix(p.Hash, "p2:") {
				t.Errorf("plan = %+v, want an empty one with a hash", p)
			}
		},
	},
	{
		name: "drift", op: "drift", steps: "init apply-refresh-only plan show-json", state: []string{"probe_file.first"},
		prepare: func(t *testing.T, f *fixture) {
			overwrite(t, filepath.Join(f.files, "first"), "changed by hand")
			remove(t, filepath.Join(f.files, "second"))
		},
		check: func(t *testing.T, o outcome) {
			wantDrift(t, o, result.Drift{Detected: true, Create: 1, Update: 1, Resources: []result.Change{
				{Address: "probe_file.first", Action: "update"}, {Address: "probe_file.second[0]", Action: "create"},
			}})
		},
	},
	{
		name: "apply repairs the drift", op: "apply", steps: "init apply", state: both,
		check: func(t *testing.T, o outcome) { wantChanges(t, o, result.Changes{Add: 1, Change: 1}) },
	},
	{
		name: "refresh", op: "refresh", steps: "init apply-refresh-only", state: both,
		prepare: func(t *testing.T, f *fixture) { overwrite(t, filepath.Join(f.files, "first"), "by hand again") },
		check: func(t *testing.T, o outcome) {
			if o.result.Changes != nil {
				t.Errorf("changes = %+v, want none", o.result.Changes)
			}
		},
	},
	{
		name: "a delete is blocked", op: "apply", flags: []string{"--guard-deletes", "--inputs-hash", "h2:new", "--allow-deletes-hash", "h2:old"},
		code: 4, steps: "init plan show-json", state: both,
		prepare: func(t *testing.T, f *fixture) { f.variables(t, map[string]string{"second": "false"}) },
		check: func(t *testing.T, o outcome) {
			want := []result.ErrorResource{{Address: "probe_file.second[0]", Summary: "delete"}}
			if e := o.result.Error; e == nil || e.Kind != result.KindBlocked || cmp.Diff(want, e.Resources) != "" {
				t.Errorf("error = %+v, want blocked for %v", e, want)
			}
		},
	},
	{
		name: "a delete is allowed for these inputs", op: "apply", flags: []string{"--guard-deletes", "--inputs-hash", "h2:new", "--allow-deletes-hash", "h2:new"},
		steps: "init plan show-json apply", state: []string{"probe_file.first"},
		check: func(t *testing.T, o outcome) { wantChanges(t, o, result.Changes{Change: 1, Destroy: 1}) },
	},
	{
		name: "guarded apply without changes", op: "apply", flags: []string{"--guard-deletes"},
		steps: "init plan", state: []string{"probe_file.first"},
		check: func(t *testing.T, o outcome) { wantChanges(t, o, result.Changes{}) },
	},
	{
		name: "an approved plan that is already done", op: "apply", flags: []string{"--plan-key-file", "plan.key", "--expect-plan", "p2:00"},
		code: 4, steps: "init plan", state: []string{"probe_file.first"},
		check: func(t *testing.T, o outcome) {
			if e := o.result.Error; e == nil || e.Kind != result.KindPlanChanged {
				t.Errorf("error = %+v; want plan-changed", e)
			}
			checkText(t, lastLine(o.stderr), []string{"has no changes", "already done"})
		},
	},
	{
		name: "another plan than the approved one", op: "apply", flags: []string{"--plan-key-file", "plan.key", "--expect-plan", "p2:00"},
		prepare: func(t *testing.T, f *fixture) { f.variables(t, nil) },
		code:    4, steps: "init plan show-json", state: []string{"probe_file.first"},
		check: func(t *testing.T, o outcome) {
			if e := o.result.Error; e == nil || e.Kind != result.KindPlanChanged || o.result.Plan.Create != 1 {
				t.Errorf("error = %+v, plan = %+v; want plan-changed and the new plan", e, o.result.Plan)
			}
			checkText(t, lastLine(o.stderr), []string{"look at the new plan and approve it"})
		},
	},
	{
		name: "a provider error", op: "apply", code: 1, steps: "init apply", state: []string{"probe_file.first"},
		prepare: func(t *testing.T, f *fixture) {
			remove(t, f.files+"/first")
			f.write(t, "fail_override.tf", failingSecond)
		},
		check: func(t *testing.T, o outcome) {
			e := o.result.Error
			if e == nil || e.Kind != result.KindStep || e.Reason != result.ReasonProvider || e.Step != "apply" {
				t.Fatalf("error = %+v, want a provider error of apply", e)
			}
			if !slices.ContainsFunc(e.Resources, func(r result.ErrorResource) bool { return r.Address == "probe_file.second[0]" }) {
				t.Errorf("resources = %v, want the failing address", e.Resources)
			}
			if !strings.Contains(e.Tail, "refused on demand") {
				t.Errorf("tail = %q, want what the provider said", e.Tail)
			}
		},
	},
	{
		name: "a configuration error", op: "apply", code: 1, steps: "init apply",
		prepare: func(t *testing.T, f *fixture) {
			remove(t, filepath.Join(f.config, "fail_override.tf"))
			f.write(t, "broken.tf", `output "x" { value = var.undeclared }`)
		},
		check: func(t *testing.T, o outcome) {
			if e := o.result.Error; e == nil || e.Reason != result.ReasonConfig || !strings.Contains(e.Tail, "undeclared") {
				t.Errorf("error = %+v, want a configuration error", e)
			}
		},
	},
	{
		name: "destroy", op: "destroy", steps: "init destroy", state: []string{},
		prepare: func(t *testing.T, f *fixture) { remove(t, filepath.Join(f.config, "broken.tf")) },
		check:   func(t *testing.T, o outcome) { wantChanges(t, o, result.Changes{Destroy: 1}) },
	},
}

const failingSecond = `resource "probe_file" "second" {
  fail      = "create"
  fail_text = "refused on demand"
}`

func TestLife(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fixture) {
		overwrite(t, filepath.Join(f.dir, "plan.key"), strings.Repeat("k", 32))
		for _, r := range life {
			if !t.Run(r.name, func(t *testing.T) { r.test(t, f) }) {
				return
			}
		}
	})
}

func (r row) test(t *testing.T, f *fixture) {
	before := parseState(t, f.backend.state(t))
	if r.prepare != nil {
		r.prepare(t, f)
	}
	o := f.must(t, r.code, r.op, r.flags...)
	if diff := cmp.Diff(r.steps, o.steps()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	after := parseState(t, f.backend.state(t))
	if r.state != nil {
		if diff := cmp.Diff(r.state, append([]string{}, after.addresses()...)); diff != "" {
			t.Errorf("resources in the state (-want +got):\n%s", diff)
		}
	}
	if before.Lineage != "" && after.Lineage != before.Lineage || after.Serial < before.Serial {
		t.Errorf("state went from serial %d of %s to %d of %s", before.Serial, before.Lineage, after.Serial, after.Lineage)
	}
	if id := f.backend.holder(t); id != "" {
		t.Errorf("lock %s is still held", id)
	}
	if (r.code == 0) != (o.result.Error == nil) {
		t.Errorf("error = %+v with exit %d", o.result.Error, r.code)
	}
	for _, secret := range []string{"hunter2-hunter2", "correct-horse-battery"} {
		if strings.Contains(o.String(), secret) {
			t.Errorf("a secret is printed:\n%s", o)
		}
	}
	r.check(t, o)
	if t.Failed() {
		t.Log(o)
	}
}

func wantChanges(t *testing.T, o outcome, want result.Changes) {
	t.Helper()
	if diff := cmp.Diff(&want, o.result.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func wantDrift(t *testing.T, o outcome, want result.Drift) {
	t.Helper()
	got := o.result.Drift
	if got == nil {
		t.Fatal("no drift in the result")
	}
	if len(got.Resources) == 0 {
		got.Resources = nil
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
