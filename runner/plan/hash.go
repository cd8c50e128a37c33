package plan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// prefix names the version of the hash: what the lines hold and how they are written.
const prefix = "p2:"

// Hash is the plan hash of spec/runner.md "Approvals": "p2:" and the hex SHA-256 of sorted
// lines, one for each change that is not a no-op, import, move or changed output. A line holds
// the kind of change, its address, its actions in order, and an HMAC-SHA-256 under key of the
// canonical JSON of what changes. A plan without changes has the hash of no lines.
//
// What changes is, for a resource: its provider, deposed key, previous address, import target,
// values before and after, which of these are unknown or sensitive, and its provisioners as
// far as the plan shows them (constant arguments and the names that the others refer to).
// Not part of it is what two plans of the same thing may differ in: order, time, version and
// kind of runtime, number formatting, reasons, replace paths, relevant attributes, and resource
// identities, which providers derive from the values. The configuration of providers is not
// part of it either: the inputs hash covers that.
//
// It is an error when key is shorter than [MinKeySize], and when p is nil or was decoded
// without UseJSONNumber(true).
func Hash(p *tfjson.Plan, key []byte) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	if p == nil {
		return "", errors.New("plan hash: there is no plan")
	}
	changes, err := content(p)
	if err != nil {
		return "", err
	}
	lines := make([]string, 0, len(changes))
	for _, c := range changes {
		line, err := c.line(key)
		if err != nil {
			return "", fmt.Errorf("plan hash: %s %s: %w", c.kind, c.address, err)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return prefix + hex.EncodeToString(sum[:]), nil
}

// change is one line of the hash before it is written.
type change struct {
	kind    string
	address string
	actions tfjson.Actions
	content map[string]any
}

// line writes the change as one line of JSON, so that no address can forge another line.
func (c change) line(key []byte) (string, error) {
	content, err := canonical(c.content)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(content)
	line, err := json.Marshal([]any{c.kind, c.address, c.actions, hex.EncodeToString(mac.Sum(nil))})
	return string(line) + "\n", err
}

// content lists all changes of the plan in no particular order.
func content(p *tfjson.Plan) ([]change, error) {
	provisioners, err := provisionersOf(p.Config)
	if err != nil {
		return nil, err
	}
	var all []change
	for _, rc := range p.ResourceChanges {
		if changed(rc) {
			all = append(all, resourceContent("resource", rc, provisioners))
		}
	}
	for _, d := range p.DeferredChanges {
		if d != nil && changed(d.ResourceChange) {
			all = append(all, resourceContent("deferred", d.ResourceChange, provisioners))
		}
	}
	for name, c := range p.OutputChanges {
		if c != nil && !c.Actions.NoOp() {
			all = append(all, change{"output", name, c.Actions, values(c)})
		}
	}
	for _, a := range p.ActionInvocations {
		if a != nil {
			all = append(all, invocationContent(a))
		}
	}
	return all, nil
}

func resourceContent(kind string, rc *tfjson.ResourceChange, provisioners map[string]any) change {
	content := values(rc.Change)
	content["provider"] = providerSource(rc.ProviderName)
	content["deposed"] = rc.DeposedKey
	content["provisioners"] = provisioners[configAddress(rc)]
	if moved(rc) {
		content["from"] = rc.PreviousAddress
	}
	if imported(rc) {
		i := rc.Change.Importing
		content["import"] = map[string]any{"id": i.ID, "unknown": i.Unknown, "identity": i.Identity}
	}
	return change{kind, rc.Address, rc.Change.Actions, content}
}

func values(c *tfjson.Change) map[string]any {
	return map[string]any{
		"before":           c.Before,
		"after":            c.After,
		"unknown":          prune(c.AfterUnknown),
		"before_sensitive": prune(c.BeforeSensitive),
		"after_sensitive":  prune(c.AfterSensitive),
	}
}

func invocationContent(a *tfjson.ActionInvocation) change {
	content := map[string]any{
		"provider":  providerSource(a.ProviderName),
		"values":    a.ConfigValues,
		"unknown":   prune(a.ConfigUnknown),
		"sensitive": prune(a.ConfigSensitive),
	}
	if t := a.LifecycleActionTrigger; t != nil {
		content["trigger"] = []any{t.TriggeringResourceAddress, t.ActionTriggerEvent, t.ActionTriggerBlockIndex, t.ActionsListIndex}
	}
	return change{"action", a.Address, tfjson.Actions{"invoke"}, content}
}

// providerSource leaves out the host of a default registry: each runtime has its own, and
// writes it in front of the same provider.
func providerSource(name string) string {
	for _, host := range []string{"registry.terraform.io/", "registry.opentofu.org/"} {
		if source, ok := strings.CutPrefix(name, host); ok {
			return source
		}
	}
	return name
}
