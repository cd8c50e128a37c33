package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	tfjson "github.com/hashicorp/terraform-json"
)

var mixed = Summary{
	Create: 2, Update: 2, Replace: 2, Delete: 1, OutputChanges: 2, Import: 1, Move: 1,
	Resources: []Change{
		{"module.child.terraform_data.worker[0]", Create},
		{"module.child.terraform_data.worker[1]", Create},
		{"terraform_data.adopted", Import},
		{"terraform_data.gone", Delete},
		{"terraform_data.new", Move},
		{"terraform_data.renewed", Replace},
		{"terraform_data.replaced", Replace},
		{"terraform_data.secret", Update},
		{"terraform_data.updated", Update},
	},
}

func TestSummariseRealPlans(t *testing.T) {
	tests := []struct {
		plan string
		want Summary
	}{
		{"tofu-mixed", mixed},
		{"terraform-mixed", mixed},
		{"tofu-nothing", Summary{}},
		{"tofu-forget", Summary{Create: 2, Forget: 2, Resources: []Change{
			{"terraform_data.abandoned", ForgetCreate},
			{"terraform_data.forgotten", Forget},
			{"terraform_data.source", Create},
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.plan, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Summarise(load(t, tt.plan))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummariseConstructed(t *testing.T) {
	rc := func(members, change string) string {
		return `"resource_changes":[{"address":"x.a"` + members + `,"change":{` + change + `}}]`
	}
	one := func(s Summary, action string) Summary {
		s.Resources = []Change{{"x.a", action}}
		return s
	}
	tests := []struct {
		name, plan string
		want       Summary
	}{
		{"replace, destroy first", rc("", `"actions":["delete","create"]`), one(Summary{Replace: 1}, Replace)},
		{"replace, create first", rc("", `"actions":["create","delete"]`), one(Summary{Replace: 1}, Replace)},
		{"create then forget", rc("", `"actions":["create","forget"]`), one(Summary{Create: 1, Forget: 1}, ForgetCreate)},
		{"unknown company of a delete", rc("", `"actions":["new-verb","delete"]`), one(Summary{Delete: 1}, Delete)},
		{"import with update", rc("", `"actions":["update"],"importing":{"id":"i"}`), one(Summary{Update: 1, Import: 1}, Update)},
		{"move with update", rc(`,"previous_address":"x.b"`, `"actions":["update"]`), one(Summary{Update: 1, Move: 1}, Update)},
		{"move of an import", rc(`,"previous_address":"x.b"`, `"actions":["no-op"],"importing":{"id":"i"}`), one(Summary{Import: 1, Move: 1}, Import)},
		{"data source", rc(`,"mode":"data"`, `"actions":["read"]`), Summary{}},
		{"deposed object", rc(`,"deposed":"1"`, `"actions":["delete"]`), one(Summary{Delete: 1}, Delete)},
		{"two objects of an address", `"resource_changes":[{"address":"x.a","change":{"actions":["update"]}},` +
			`{"address":"x.a","deposed":"1","change":{"actions":["delete"]}}]`,
			Summary{Update: 1, Delete: 1, Resources: []Change{{"x.a", Delete}, {"x.a", Update}}}},
		{"deferred", `"deferred_changes":[{"resource_change":{"address":"x.a","change":{"actions":["delete"]}}}]`, Summary{}},
		{"output", `"output_changes":{"o":{"actions":["update"]},"p":{"actions":["no-op"]}}`, Summary{OutputChanges: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Summarise(planOf(t, tt.plan))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrift(t *testing.T) {
	want := Summary{
		Create: 2, Update: 2, Replace: 2, Delete: 1,
		Resources: []Change{
			{"module.child.terraform_data.worker[0]", Create},
			{"module.child.terraform_data.worker[1]", Create},
			{"terraform_data.gone", Delete},
			{"terraform_data.renewed", Replace},
			{"terraform_data.replaced", Replace},
			{"terraform_data.secret", Update},
			{"terraform_data.updated", Update},
		},
	}
	for _, name := range []string{"tofu-drift", "terraform-drift"} {
		if diff := cmp.Diff(want, Drift(load(t, name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A runtime exits 2 for each of these plans, and none of them is drift.
func TestDriftIgnoresNoise(t *testing.T) {
	p := planOf(t, `
		"resource_changes":[
			{"address":"x.same","change":{"actions":["no-op"]}},
			{"address":"x.moved","previous_address":"x.old","change":{"actions":["no-op"]}},
			{"address":"x.adopted","change":{"actions":["no-op"],"importing":{"id":"1"}}},
			{"address":"x.forgotten","change":{"actions":["forget"]}},
			{"address":"data.x.read","mode":"data","change":{"actions":["read"]}}],
		"resource_drift":[{"address":"x.same","change":{"actions":["update"]}}],
		"output_changes":{"o":{"actions":["create"]}}`)
	if got := Drift(p); !got.Empty() || len(got.Resources) != 0 {
		t.Errorf("got %+v, want no drift", got)
	}
}

func TestEmptyAndDestructive(t *testing.T) {
	tests := []struct {
		s                  Summary
		empty, destructive bool
	}{
		{Summary{}, true, false},
		{Summary{Create: 1}, false, false},
		{Summary{Update: 1}, false, false},
		{Summary{Replace: 1}, false, true},
		{Summary{Delete: 1}, false, true},
		{Summary{OutputChanges: 1}, false, false},
		{Summary{Import: 1}, false, false},
		{Summary{Move: 1}, false, false},
		{Summary{Forget: 1}, false, false},
	}
	for _, tt := range tests {
		if tt.s.Empty() != tt.empty || tt.s.Destructive() != tt.destructive {
			t.Errorf("%+v: empty %v, destructive %v", tt.s, tt.s.Empty(), tt.s.Destructive())
		}
		if tt.s.Create++; tt.s.Empty() || tt.s.Destructive() != tt.destructive {
			t.Errorf("%+v: empty %v, destructive %v", tt.s, tt.s.Empty(), tt.s.Destructive())
		}
	}
}

func TestNothingOfNoPlan(t *testing.T) {
	holes := &tfjson.Plan{ResourceChanges: []*tfjson.ResourceChange{nil, {}}, OutputChanges: map[string]*tfjson.Change{"o": nil}}
	for _, p := range []*tfjson.Plan{nil, {}, holes} {
		if s, d := Summarise(p), Drift(p); !s.Empty() || !d.Empty() {
			t.Errorf("got %+v and %+v, want nothing", s, d)
		}
	}
}
