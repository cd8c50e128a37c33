package runner

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/runtime"
)

// TestUnproven has a step that did not come to its end, and a state that was saved at some moment of it.
func TestUnproven(t *testing.T) {
	const state = `{"version":4,"serial":3,"lineage":"l","resources":[
{"mode":"managed","type":"t","name":"new","instances":[{"attributes":{"id":"i-new"}}]},
{"mode":"managed","type":"t","name":"old","instances":[{"attributes":{"id":"i-old"}}]},
{"mode":"managed","type":"t","name":"kept","instances":[{"deposed":"1","attributes":{"id":"i-kept"}}]},
{"mode":"data","type":"t","name":"data","instances":[{"attributes":{"id":"i-data"}}]},
{"mode":"managed","type":"t","name":"named","instances":[{"attributes":{"name":"n"}}]},
{"module":"module.m[\"a\"]","mode":"managed","type":"t","name":"each","instances":[
 {"index_key":"k/${x}","attributes":{"id":"i-k"}},{"index_key":0,"attributes":{"id":"i-0"}}]}]}`
	ended := func(action, address, id string) runtime.Started {
		return runtime.Started{Action: action, Address: address, ID: id, Ended: true}
	}
	failed := ended("create", "t.new", "i-new")
	failed.Failed = true
	for name, row := range map[string]struct {
		changes []runtime.Started
		planned string // at each address
		left    string
	}{
		"made and there":                 {[]runtime.Started{ended("create", "t.new", "i-new")}, "create", ""},
		"made, told by its name":         {[]runtime.Started{ended("create", "t.named", "n")}, "create", ""},
		"made in a module":               {[]runtime.Started{ended("create", `module.m["a"].t.each["k/$${x}"]`, "i-k"), ended("create", `module.m["a"].t.each[0]`, "i-0")}, "create", ""},
		"made and not there":             {[]runtime.Started{ended("create", "t.other", "i-1")}, "create", "t.other"},
		"made, another is there":         {[]runtime.Started{ended("create", "t.old", "i-1")}, "create", "t.old"},
		"made, without an ID":            {[]runtime.Started{ended("create", "t.new", "")}, "create", "t.new"},
		"made, only its data is there":   {[]runtime.Started{ended("create", "t.data", "i-data")}, "create", "t.data"},
		"made, only deposed":             {[]runtime.Started{ended("create", "t.kept", "i-kept")}, "create", "t.kept"},
		"in flight":                      {[]runtime.Started{{Action: "create", Address: "t.new", ID: "i-new"}}, "create", "t.new"},
		"failed":                         {[]runtime.Started{failed}, "create", "t.new"},
		"updated":                        {[]runtime.Started{ended("update", "t.old", "i-old")}, "update", "t.old"},
		"deleted and gone":               {[]runtime.Started{ended("delete", "t.gone", "i-gone")}, "delete", ""},
		"deleted and there":              {[]runtime.Started{ended("delete", "t.old", "i-old")}, "delete", "t.old"},
		"deleted, deposed":               {[]runtime.Started{ended("delete", "t.kept", "i-kept")}, "delete", "t.kept"},
		"deleted, without an ID":         {[]runtime.Started{ended("delete", "t.old", "")}, "delete", "t.old"},
		"replaced":                       {[]runtime.Started{ended("delete", "t.new", "i-0"), ended("create", "t.new", "i-new")}, "replace", ""},
		"replaced under the same ID":     {[]runtime.Started{ended("delete", "t.old", "i-old"), ended("create", "t.old", "i-old")}, "replace", "t.old t.old"},
		"made before the old is deleted": {[]runtime.Started{ended("create", "t.new", "i-new")}, "replace", "t.new"},
		"nobody knows what was planned":  {[]runtime.Started{ended("create", "t.new", "i-new")}, "", "t.new"},
	} {
		t.Run(name, func(t *testing.T) {
			planned := map[string]string{}
			for _, c := range row.changes {
				planned[c.Address] = row.planned
			}
			if got := addressesOf(unproven(row.changes, planned, []byte(state))); got != row.left {
				t.Errorf("not proven: %q, want %q", got, row.left)
			}
			for what, no := range map[string]string{"no state": "", "half a state": state[:len(state)/2], "no such version": `{"version":3}`} {
				if got, want := addressesOf(unproven(row.changes, planned, []byte(no))), addressesOf(row.changes); got != want {
					t.Errorf("%s: not proven: %q, want %q", what, got, want)
				}
			}
		})
	}
}

func addressesOf(changes []runtime.Started) string {
	var addresses []string
	for _, c := range changes {
		addresses = append(addresses, c.Address)
	}
	return strings.Join(addresses, " ")
}
