package explain_test

import (
	"fmt"
	"strings"

	"github.com/captf/captf-runner/runner/explain"
)

const first = `{"version": 4, "terraform_version": "1.12.6", "serial": 7, "lineage": "3f2a", "outputs": {}, "resources": [
  {"mode": "managed", "type": "probe_file", "name": "a", "provider": "provider[\"example.test/captf/probe\"]", "instances": [
    {"schema_version": 0, "attributes": {"path": "/a", "content": "one", "secret": "hunter2"}}]}]}`

var second = strings.NewReplacer(`"serial": 7`, `"serial": 8`, "one", "two", "hunter2", "swordfish").Replace(first)

func ExampleRead() {
	d, err := explain.Read(strings.NewReader(first))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range d.Sensitive {
		fmt.Println(s.Address, s.Path, s.Why)
	}
	// Output: probe_file.a secret named
}

func ExampleDiff() {
	d, err := explain.Diff(strings.NewReader(first), strings.NewReader(second))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range d.Changed[0].Attributes {
		if v.Sensitive {
			fmt.Println(v.Path, "(sensitive)")
			continue
		}
		fmt.Println(v.Path, *v.Before, *v.After)
	}
	// Output:
	// content "one" "two"
	// secret (sensitive)
}
