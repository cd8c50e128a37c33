package explain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/captf/captf-runner/runner/state"
)

// diff compares two states, and sees that no form of the difference has a secret.
func diff(t *testing.T, before, after string) *Difference {
	t.Helper()
	d, err := Diff(strings.NewReader(before), strings.NewReader(after))
	if err != nil {
		t.Fatal(err)
	}
	var people strings.Builder
	if err := d.WriteText(&people); err != nil {
		t.Fatal(err)
	}
	hasNoSecret(t, "the text", people.String())
	program, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	hasNoSecret(t, "the JSON", string(program))
	return d
}

func ptr(s string) *string { return &s }

// ids are what each apply makes anew.
var ids = cmpopts.IgnoreSliceElements(func(v Value) bool { return v.Path == "id" })

func TestDiffOfStatesOfBothRuntimes(t *testing.T) {
	eachRuntime(t, func(t *testing.T, w workdir) {
		before := w.applied(t)
		w.must(t, "state", "mv", "terraform_data.nested", "terraform_data.renamed")
		changed := strings.NewReplacer(
			`variable "text" { default = "one" }`, `variable "text" { default = "two" }`,
			`"b/\"c\"" = 2`, `"new" = 3`,
			`"login swordfish-0"`, `"logout swordfish-0"`,
			`closed = "in-a-nested-0bject"`, `closed = "s3cr3t-0utput"`,
			`"terraform_data" "nested"`, `"terraform_data" "renamed"`,
			`output "open"`, `output "opened"`,
		).Replace(root)
		moved := w.must(t, "state", "list")
		d := diff(t, before, moved)
		if diff := cmp.Diff([]Moved{{"terraform_data.nested", "terraform_data.renamed"}}, d.Moved); diff != "" {
			t.Errorf("moved (-want +got):\n%s", diff)
		}
		d = diff(t, moved, w.apply(t, changed))
		want := []string{`probe_file.second["b/\"c\""]`}
		if diff := cmp.Diff(want, addresses(d.Removed)); diff != "" {
			t.Errorf("removed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{`probe_file.second["new"]`}, addresses(d.Added)); diff != "" {
			t.Errorf("added (-want +got):\n%s", diff)
		}
		checkChanges(t, w, d)
	})
}

func addresses(all []Reference) []string {
	var names []string
	for _, r := range all {
		names = append(names, r.Address)
	}
	return names
}

func checkChanges(t *testing.T, w workdir, d *Difference) {
	t.Helper()
	second := Reference{Address: `probe_file.second["a"]`, Mode: "managed", Provider: "example.test/captf/probe.other"}
	data := Reference{Address: "terraform_data.renamed", Mode: "managed", Provider: "terraform.io/builtin/terraform"}
	want := []Change{
		{Reference: second, Attributes: []Value{{Path: "content", Action: Changed, Before: ptr(`"one"`), After: ptr(`"two"`)}}},
		{Reference: data, Attributes: []Value{
			{Path: "input.closed", Action: Changed, Sensitive: true},
			{Path: "input.motd", Action: Changed, Before: ptr(`"login (sensitive)"`), After: ptr(`"logout (sensitive)"`)},
			{Path: "output.closed", Action: Changed, Before: ptr(`"(sensitive)"`), After: ptr(`"(sensitive)"`)},
			{Path: "output.motd", Action: Changed, Before: ptr(`"login (sensitive)"`), After: ptr(`"logout (sensitive)"`)},
		}},
	}
	ofRoot := cmpopts.IgnoreSliceElements(func(c Change) bool { return strings.HasPrefix(c.Address, "module.") })
	if diff := cmp.Diff(want, d.Changed, ofRoot, ids); diff != "" {
		t.Errorf("changed by %s (-want +got):\n%s", w.runtime.Name, diff)
	}
	outputs := []Value{{Path: "open", Action: Removed, Before: ptr(`"one"`)}, {Path: "opened", Action: Added, After: ptr(`"two"`)}}
	if diff := cmp.Diff(outputs, d.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if d.After.Serial <= d.Before.Serial || d.After.Lineage != d.Before.Lineage || len(d.Notes) > 0 {
		t.Errorf("before %+v, after %+v, notes %q", d.Before, d.After, d.Notes)
	}
}

func TestDiffOfAnEncryptedStateIsThatOfItsEnvelope(t *testing.T) {
	eachRuntime(t, func(t *testing.T, w workdir) {
		if w.runtime.Name != "tofu" {
			return // Terraform cannot encrypt
		}
		before := w.apply(t, encryption+`resource "terraform_data" "x" {}`)
		after := w.apply(t, encryption+`resource "terraform_data" "y" {}`)
		d := diff(t, before, after)
		if !d.Empty() || d.Same || !d.Before.Encrypted || d.After.Serial <= d.Before.Serial {
			t.Errorf("got %+v", d)
		}
		if !strings.Contains(strings.Join(d.Notes, "\n"), "resources and outputs are not compared") {
			t.Errorf("the notes are %q", d.Notes)
		}
		if d := diff(t, before, before); !d.Same {
			t.Errorf("one state with itself: %+v", d)
		}
	})
}

// document is a small state.
func document(serial, lineage, resources, outputs string) string {
	return `{"version":4,"terraform_version":"1.5.7","serial":` + serial + `,"lineage":"` + lineage + `","outputs":{` + outputs + `},"resources":[` + resources + `]}`
}

// resource is one with a single instance.
func resource(kind, fields string) string {
	return `{"mode":"managed","type":"` + kind + `","name":"x","provider":"provider[\"example.test/a/b\"]","instances":[{` + fields + `}]}`
}

func TestDiffNotes(t *testing.T) {
	with := func(lineage, serial string) string { return document(serial, lineage, "", "") }
	for _, c := range []struct{ name, before, after, want string }{
		{"the same", with("a", "1"), with("a", "1"), "byte for byte"},
		{"another lineage", with("a", "1"), with("b", "2"), "lineages differ"},
		{"older", with("a", "2"), with("a", "1"), "the second is the older one"},
		{"two writers", with("a", "1"), document("1", "a", "", `"o":{"value":1,"type":"number"}`), "same serial"},
		{"white space", with("a", "1"), with("a", "1") + "\n", "the way differs in which they are written down"},
		{"no lineage", with("", "1"), with("a", "1"), "shows no lineage"},
		{"newer", with("a", "1"), with("a", "2"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(diff(t, c.before, c.after).Notes, "\n")
			if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("notes %q, want %q", got, c.want)
			}
		})
	}
}

func TestDiffSaysWhichStateItCannotRead(t *testing.T) {
	good := document("1", "a", "", "")
	for _, c := range []struct{ name, before, after, want string }{
		{"first", "<html>", good, "the first state"},
		{"second", good, `{"version":3}`, "the second state"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Diff(strings.NewReader(c.before), strings.NewReader(c.after))
			if !errors.Is(err, state.Corrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one of %s", err, c.want)
			}
		})
	}
}
