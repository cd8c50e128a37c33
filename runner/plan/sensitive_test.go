package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	tfjson "github.com/hashicorp/terraform-json"
)

func TestSensitiveInRealPlans(t *testing.T) {
	const pin = "31415926535897932384"
	tests := []struct {
		plan string
		want []string
	}{
		{"tofu-create", []string{pin, "s3cr3t-password", "user:s3cr3t-password@host"}},
		{"terraform-destroy", []string{pin, "s3cr3t-password", "user:s3cr3t-password@host"}},
		{"terraform-mixed", []string{pin, "n3w-s3cr3t", "s3cr3t-password", "user:n3w-s3cr3t@host", "user:s3cr3t-password@host"}},
		{"tofu-forget", nil},
	}
	for _, tt := range tests {
		t.Run(tt.plan, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Sensitive(load(t, tt.plan))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSensitivePlaces(t *testing.T) {
	rc := func(change string) string {
		return `{"address":"x.a","change":{"actions":["update"],` + change + `}}`
	}
	state := func(members string) string {
		return `"prior_state":{"format_version":"1.0","values":{` + members + `}}`
	}
	tests := []struct {
		name, plan string
		want       []string
	}{
		{"before", `"resource_changes":[` + rc(`"before":{"p":"one","q":"two"},"before_sensitive":{"p":true}`) + `]`, []string{"one"}},
		{"after", `"resource_changes":[` + rc(`"after":{"p":"one","q":"two"},"after_sensitive":{"q":true}`) + `]`, []string{"two"}},
		{"whole object", `"resource_changes":[` + rc(`"after":{"p":["one",{"k":2}],"q":true},"after_sensitive":true`) + `]`, []string{"2", "one"}},
		{"in a list", `"resource_changes":[` + rc(`"after":{"p":[{"k":"a"},{"k":"b"}]},"after_sensitive":{"p":[{},{"k":true}]}`) + `]`, []string{"b"}},
		{"mask longer than the list", `"resource_changes":[` + rc(`"after":["a"],"after_sensitive":[true,true]`) + `]`, []string{"a"}},
		{"mask of another shape", `"resource_changes":[` + rc(`"after":"a","after_sensitive":{"p":[true]}`) + `]`, nil},
		{"drift", `"resource_drift":[` + rc(`"after":{"p":"one"},"after_sensitive":{"p":true}`) + `]`, []string{"one"}},
		{"deferred", `"deferred_changes":[{"resource_change":` + rc(`"after":{"p":"one"},"after_sensitive":{"p":true}`) + `}]`, []string{"one"}},
		{"output", `"output_changes":{"o":{"actions":["update"],"before":{"a":"one"},"after":"two","before_sensitive":true,"after_sensitive":false}}`, []string{"one"}},
		{"action", `"action_invocations":[{"config_values":{"p":"one"},"config_sensitive":{"p":true}}]`, []string{"one"}},
		{"variable", `"variables":{"v":{"value":{"deep":["one",3.50]}},"w":{"value":"two"}},"configuration":{"root_module":{"variables":{"v":{"sensitive":true},"w":{},"x":{"sensitive":true}}}}`, []string{"3.50", "one"}},
		{"data source read before the plan", state(`"root_module":{"child_modules":[{"resources":[{"address":"data.x.a","values":{"p":"one","n":1234567,"q":"two"},"sensitive_values":{"p":true,"n":true}}]}]}`), []string{"1234567", "one"}},
		{"number that lost digits", state(`"root_module":{"resources":[{"address":"data.x.a","values":{"m":-1234567,"n":12345678901234567890,"o":-12345678901234567890},"sensitive_values":{"m":true,"n":true,"o":true}}]}`), []string{"-1234567"}},
		{"output of the state", state(`"outputs":{"o":{"sensitive":true,"type":"string","value":"one"},"p":{"sensitive":false,"type":"string","value":"two"}}`), []string{"one"}},
		{"planned values", `"planned_values":{"root_module":{"resources":[{"address":"x.a","values":{"p":"one"},"sensitive_values":{"p":true}}]}}`, []string{"one"}},
		{"empty text and booleans", `"resource_changes":[` + rc(`"after":{"p":"","q":true,"r":null},"after_sensitive":true`) + `]`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Sensitive(planOf(t, tt.plan))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSensitiveOfAPlanWithHoles(t *testing.T) {
	p := &tfjson.Plan{
		ResourceChanges:   []*tfjson.ResourceChange{nil, {}},
		DeferredChanges:   []*tfjson.DeferredResourceChange{nil},
		OutputChanges:     map[string]*tfjson.Change{"o": nil},
		ActionInvocations: []*tfjson.ActionInvocation{nil},
		PlannedValues: &tfjson.StateValues{
			Outputs:    map[string]*tfjson.StateOutput{"o": nil},
			RootModule: &tfjson.StateModule{Resources: []*tfjson.StateResource{nil, {}}, ChildModules: []*tfjson.StateModule{nil}},
		},
		PriorState: &tfjson.State{},
		Config:     &tfjson.Config{RootModule: &tfjson.ConfigModule{Variables: map[string]*tfjson.ConfigVariable{"v": nil}}},
		Variables:  map[string]*tfjson.PlanVariable{"v": {Value: "shown"}},
	}
	for _, p := range []*tfjson.Plan{nil, p, {Config: &tfjson.Config{}}} {
		if got := Sensitive(p); len(got) != 0 {
			t.Errorf("got %q, want nothing", got)
		}
	}
}
