package plan

import (
	"bytes"
	"encoding/json"
	"fmt"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/captf/captf-runner/internal/address"
)

// provisionersOf maps the address of every resource that has provisioners, without instance
// keys, to what the plan's configuration says of them. They are part of the hash because they
// run commands when the resource is created or destroyed, and no value of a resource shows them.
func provisionersOf(c *tfjson.Config) (map[string]any, error) {
	all := make(map[string]any)
	if c == nil {
		return all, nil
	}
	return all, addProvisioners(all, "", c.RootModule)
}

func addProvisioners(all map[string]any, path string, m *tfjson.ConfigModule) error {
	if m == nil {
		return nil
	}
	for _, r := range m.Resources {
		if r == nil || len(r.Provisioners) == 0 {
			continue
		}
		v, err := generic(r.Provisioners)
		if err != nil {
			return fmt.Errorf("provisioners of %s%s: %w", path, r.Address, err)
		}
		all[path+r.Address] = v
	}
	for name, call := range m.ModuleCalls {
		if call == nil {
			continue
		}
		if err := addProvisioners(all, path+"module."+name+".", call.Module); err != nil {
			return err
		}
	}
	return nil
}

// generic turns v into the tree that its JSON stands for.
func generic(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var tree any
	err = dec.Decode(&tree)
	return tree, err
}

// configAddress is the address of rc's resource in the configuration: module path, type and
// name, without any instance key.
func configAddress(rc *tfjson.ResourceChange) string {
	resource := rc.Type + "." + rc.Name
	if rc.ModuleAddress == "" {
		return resource
	}
	return address.WithoutKeys(rc.ModuleAddress) + "." + resource
}
