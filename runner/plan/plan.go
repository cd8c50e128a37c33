// Package plan reads a decoded plan: what it would do, a keyed hash of it that an approval
// can name, whether it shows drift, and which of its values are secret.
//
// Every function takes the plan as terraform-json decodes it. The plan must have been decoded
// with UseJSONNumber(true): a float64 cannot tell two large numbers apart, and [Hash] refuses one.
//
// Start with [Summarise] for what to show and to guard, and with [Hash] for what to approve
// (spec/runner.md, "Approvals").
package plan

import tfjson "github.com/hashicorp/terraform-json"

// changed reports whether a resource change does anything at all: it has actions, or it
// imports or moves the object.
func changed(rc *tfjson.ResourceChange) bool {
	return rc != nil && rc.Change != nil &&
		(!rc.Change.Actions.NoOp() || imported(rc) || moved(rc))
}

func imported(rc *tfjson.ResourceChange) bool { return rc.Change.Importing != nil }

func moved(rc *tfjson.ResourceChange) bool {
	return rc.PreviousAddress != "" && rc.PreviousAddress != rc.Address
}
