package plan

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
)

// emptyHash is the SHA-256 of nothing.
const emptyHash = "p2:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestHashOfNoChangesIsTheHashOfNoLines(t *testing.T) {
	for _, name := range []string{"tofu-nothing", "terraform-nothing"} {
		if got := mustHash(t, load(t, name)); got != emptyHash {
			t.Errorf("%s: got %s, want %s", name, got, emptyHash)
		}
	}
}

// The two lines are written out here so that a change of the format cannot go unnoticed: it
// would void every approval that was given before an upgrade.
func TestHashFormat(t *testing.T) {
	p := planOf(t, `
		"resource_changes":[{"address":"a.b[\"\n\"]","provider_name":"registry.terraform.io/x/a","type":"a","name":"b",
			"change":{"actions":["delete","create"],"before":{"n":1.50},"after":{"m":2,"l":[]},"after_unknown":{"n":true,"l":false}}}],
		"output_changes":{"o":{"actions":["update"],"before":"<","after":null,"after_sensitive":true}}`)
	mac := func(content string) string {
		m := hmac.New(sha256.New, testKey)
		m.Write([]byte(content))
		return hex.EncodeToString(m.Sum(nil))
	}
	output := mac(`{"after":null,"after_sensitive":true,"before":"\u003c","before_sensitive":null,"unknown":null}`)
	resource := mac(`{"after":{"l":[],"m":2e0},"after_sensitive":null,"before":{"n":15e-1},"before_sensitive":null,` +
		`"deposed":"","provider":"x/a","provisioners":null,"unknown":{"n":true}}`)
	lines := `["output","o",["update"],"` + output + `"]` + "\n" +
		`["resource","a.b[\"\n\"]",["delete","create"],"` + resource + `"]` + "\n"
	sum := sha256.Sum256([]byte(lines))
	if got, want := mustHash(t, p), "p2:"+hex.EncodeToString(sum[:]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHashIsTheSameForBothRuntimes(t *testing.T) {
	seen := make(map[string]string)
	for _, name := range []string{"create", "destroy", "mixed", "drift"} {
		tofu, terraform := mustHash(t, load(t, "tofu-"+name)), mustHash(t, load(t, "terraform-"+name))
		if tofu != terraform {
			t.Errorf("%s: tofu %s, terraform %s", name, tofu, terraform)
		}
		if other, ok := seen[tofu]; ok && other+name != "mixeddrift" { // made of one configuration
			t.Errorf("%s and %s have the same hash", other, name)
		}
		seen[tofu] = name
	}
}

func TestHashIgnoresOrder(t *testing.T) {
	p := load(t, "tofu-mixed")
	want := mustHash(t, p)
	for range 20 {
		rand.Shuffle(len(p.ResourceChanges), func(i, j int) {
			p.ResourceChanges[i], p.ResourceChanges[j] = p.ResourceChanges[j], p.ResourceChanges[i]
		})
		if got := mustHash(t, p); got != want {
			t.Fatal("the order of the changes changes the hash")
		}
	}
}

func TestHashDependsOnTheKey(t *testing.T) {
	p := load(t, "tofu-mixed")
	other, err := Hash(p, bytes.Repeat([]byte("K"), MinKeySize))
	if err != nil {
		t.Fatal(err)
	}
	if other == mustHash(t, p) {
		t.Error("two keys give one hash")
	}
}

// TestHashOneValue changes one value of a real plan at a time, each in turn: the hash must
// change exactly when the value belongs to what the plan would do.
func TestHashOneValue(t *testing.T) {
	for _, name := range []string{"tofu-mixed", "tofu-forget"} {
		t.Run(name, func(t *testing.T) { checkEveryLeaf(t, read(t, name)) })
	}
}

func checkEveryLeaf(t *testing.T, raw []byte) {
	want := mustHash(t, decode(t, raw))
	tree := unmarshal(t, raw)
	mattered, ignored := 0, 0
	for _, key := range []string{"resource_changes", "output_changes", "variables", "configuration", "relevant_attributes", "timestamp", "terraform_version"} {
		if tree[key] == nil {
			continue
		}
		eachLeaf(tree[key], []string{key}, func(path []string, leaf any) {
			set(tree, path, other(leaf))
			got := mustHash(t, decode(t, marshal(t, tree)))
			set(tree, path, leaf)
			where := strings.Join(path, ".")
			switch matter, known := matters(tree, path); {
			case !known:
			case matter:
				mattered++
				if got == want {
					t.Errorf("%s: %v changed, the hash did not", where, leaf)
				}
			default:
				ignored++
				if got != want {
					t.Errorf("%s: %v changed, and so did the hash", where, leaf)
				}
			}
		})
	}
	if mattered < 10 || ignored < 10 {
		t.Errorf("only %d values that matter and %d that do not: the walk missed the plan", mattered, ignored)
	}
}

// matters says whether a value of the plan is part of what it would do; known is false for
// the names that only say where a resource is configured.
func matters(tree map[string]any, path []string) (matter, known bool) {
	switch path[0] {
	case "resource_changes":
		rc := at(tree, path[:2]).(map[string]any)
		switch path[2] {
		case "type", "name", "module_address", "mode", "index":
			return false, false
		case "action_reason":
			return false, true
		}
		if path[2] == "change" && (path[3] == "actions" || path[3] == "replace_paths") {
			return path[3] == "actions", true
		}
		return rc["previous_address"] != nil || !isNoOp(rc["change"]) || rc["change"].(map[string]any)["importing"] != nil, true
	case "output_changes":
		return path[2] == "actions" || !isNoOp(at(tree, path[:2])), true
	case "configuration":
		where := strings.Join(path, ".")
		if strings.Contains(where, "module_calls") && strings.Contains(where, "provisioners") {
			return true, true // module.child.terraform_data.worker is created
		}
		if strings.Contains(where, "provisioners") {
			return !isNoOpAt(tree, "terraform_data.commands"), true
		}
		return false, !strings.HasSuffix(where, ".address")
	}
	return false, true
}

func isNoOp(change any) bool {
	return fmt.Sprint(change.(map[string]any)["actions"]) == "[no-op]"
}

func isNoOpAt(tree map[string]any, address string) bool {
	for _, rc := range tree["resource_changes"].([]any) {
		if rc := rc.(map[string]any); rc["address"] == address {
			return isNoOp(rc["change"])
		}
	}
	return true
}

func eachLeaf(v any, path []string, visit func(path []string, leaf any)) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			eachLeaf(e, append(path[:len(path):len(path)], k), visit)
		}
	case []any:
		for i, e := range v {
			eachLeaf(e, append(path[:len(path):len(path)], fmt.Sprint(i)), visit)
		}
	default:
		visit(path, v)
	}
}

func at(v any, path []string) any {
	for _, key := range path {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[key]
		case []any:
			var i int
			fmt.Sscan(key, &i)
			v = parent[i]
		}
	}
	return v
}

func set(tree map[string]any, path []string, value any) {
	last := path[len(path)-1]
	switch parent := at(tree, path[:len(path)-1]).(type) {
	case map[string]any:
		parent[last] = value
	case []any:
		var i int
		fmt.Sscan(last, &i)
		parent[i] = value
	}
}

// other returns a value of the same JSON type that is not v.
func other(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case json.Number:
		return "1" + v
	}
	return "was null"
}

func unmarshal(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHashPairs compares two plans that differ in one way.
func TestHashPairs(t *testing.T) {
	rc := func(members, change string) string {
		return `"resource_changes":[{"address":"x.a","type":"x","name":"a"` + members + `,"change":{` + change + `}}]`
	}
	const update = `"actions":["update"],"before":{"v":1},"after":{"v":2}`
	tests := []struct {
		name string
		a, b string
		same bool
	}{
		{"number formatting", rc("", update), rc("", `"actions":["update"],"before":{"v":1.0},"after":{"v":0.2e1}`), true},
		{"masks that mark nothing", rc("", update), rc("", update+`,"after_unknown":{"w":[false,{}]},"before_sensitive":false,"after_sensitive":{}`), true},
		{"default registry", rc(`,"provider_name":"registry.terraform.io/a/b"`, update), rc(`,"provider_name":"registry.opentofu.org/a/b"`, update), true},
		{"deferred and no-op", rc("", `"actions":["no-op"],"before":{"v":1},"after":{"v":1}`), `"timestamp":"2026-01-01T00:00:00Z"`, true},
		{"previous address is its own", rc(`,"previous_address":"x.a"`, update), rc("", update), true},

		{"number and text", rc("", update), rc("", `"actions":["update"],"before":{"v":1},"after":{"v":"2"}`), false},
		{"large numbers", rc("", `"actions":["create"],"after":{"v":9007199254740993}`), rc("", `"actions":["create"],"after":{"v":9007199254740992}`), false},
		{"sign", rc("", `"actions":["create"],"after":{"v":-1}`), rc("", `"actions":["create"],"after":{"v":1}`), false},
		{"null and absent", rc("", `"actions":["create"],"after":{"v":null}`), rc("", `"actions":["create"],"after":{}`), false},
		{"order of a list", rc("", `"actions":["create"],"after":{"v":[1,2]}`), rc("", `"actions":["create"],"after":{"v":[2,1]}`), false},
		{"order of a replacement", rc("", `"actions":["create","delete"]`), rc("", `"actions":["delete","create"]`), false},
		{"unknown", rc("", `"actions":["create"],"after":{}`), rc("", `"actions":["create"],"after":{},"after_unknown":{"v":true}`), false},
		{"place of the unknown", rc("", `"actions":["create"],"after_unknown":{"v":[true,false]}`), rc("", `"actions":["create"],"after_unknown":{"v":[false,true]}`), false},
		{"deposed", rc("", `"actions":["delete"]`), rc(`,"deposed":"00000001"`, `"actions":["delete"]`), false},
		{"provider", rc(`,"provider_name":"registry.terraform.io/a/b"`, update), rc(`,"provider_name":"registry.terraform.io/c/b"`, update), false},
		{"provider host", rc(`,"provider_name":"registry.terraform.io/a/b"`, update), rc(`,"provider_name":"example.test/a/b"`, update), false},
		{"import", rc("", `"actions":["no-op"]`), rc("", `"actions":["no-op"],"importing":{"id":"1"}`), false},
		{"import of another", rc("", `"actions":["no-op"],"importing":{"id":"2"}`), rc("", `"actions":["no-op"],"importing":{"id":"1"}`), false},
		{"import by identity", rc("", `"actions":["no-op"],"importing":{"identity":{"n":1}}`), rc("", `"actions":["no-op"],"importing":{"identity":{"n":2}}`), false},
		{"move", rc(`,"previous_address":"x.old"`, `"actions":["no-op"]`), rc("", `"actions":["no-op"]`), false},
		{"move from another", rc(`,"previous_address":"x.old"`, `"actions":["no-op"]`), rc(`,"previous_address":"x.older"`, `"actions":["no-op"]`), false},
		{"forget and delete", rc("", `"actions":["forget"]`), rc("", `"actions":["delete"]`), false},
		{"deferred", `"deferred_changes":[{"reason":"x","resource_change":{"address":"x.a","change":{"actions":["create"]}}}]`, rc("", `"actions":["create"]`), false},
		{"deferred or not at all", `"deferred_changes":[{"reason":"x","resource_change":{"address":"x.a","change":{"actions":["create"]}}}]`, `"timestamp":"2026-01-01T00:00:00Z"`, false},
		{"no-op that is deferred", `"deferred_changes":[{"reason":"x","resource_change":{"address":"x.a","change":{"actions":["no-op"]}}}]`, `"timestamp":"2026-01-01T00:00:00Z"`, true},
		{"action invocation", `"action_invocations":[{"address":"action.x.a","config_values":{"v":1}}]`, `"action_invocations":[{"address":"action.x.a","config_values":{"v":2}}]`, false},
		{"place of an action", `"action_invocations":[{"address":"action.x.a","lifecycle_action_trigger":{"actions_list_index":0}}]`, `"action_invocations":[{"address":"action.x.a","lifecycle_action_trigger":{"actions_list_index":1}}]`, false},
		{"action trigger", `"action_invocations":[{"address":"action.x.a"}]`, `"action_invocations":[{"address":"action.x.a","lifecycle_action_trigger":{"action_trigger_event":"AfterCreate"}}]`, false},
		{"output and resource", `"output_changes":{"x.a":{"actions":["create"],"after":1}}`, rc("", `"actions":["create"],"after":1`), false},
		{"forged line", `"output_changes":{"a":{"actions":["create"]},"b":{"actions":["create"]}}`, `"output_changes":{"a\",[\"create\"],\"\"]\n[\"output\",\"b":{"actions":["create"]}}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := mustHash(t, planOf(t, tt.a)), mustHash(t, planOf(t, tt.b))
			if (a == b) != tt.same {
				t.Errorf("same hash: %v, want %v", a == b, tt.same)
			}
		})
	}
}

func TestHashErrors(t *testing.T) {
	floats := func() *tfjson.Plan {
		var p tfjson.Plan
		if err := json.Unmarshal([]byte(`{"format_version":"1.2","output_changes":{"o":{"actions":["create"],"after":1}}}`), &p); err != nil {
			t.Fatal(err)
		}
		return &p
	}
	tests := []struct {
		name string
		plan *tfjson.Plan
		key  []byte
		want string
	}{
		{"no key", load(t, "tofu-nothing"), nil, "0 bytes, need at least 32"},
		{"short key", load(t, "tofu-nothing"), testKey[1:], "31 bytes, need at least 32"},
		{"no plan", nil, testKey, "there is no plan"},
		{"float64", floats(), testKey, "UseJSONNumber"},
		{"exponent", planOf(t, `"output_changes":{"o":{"actions":["create"],"after":1e99999999999999999999}}`), testKey, "output o: number 1e99999999999999999999: exponent out of range"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Hash(tt.plan, tt.key)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != "" {
				t.Errorf("got %q, %v; want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestHashOfAPlanWithHoles(t *testing.T) {
	p := &tfjson.Plan{
		ResourceChanges:   []*tfjson.ResourceChange{nil, {Address: "a"}},
		DeferredChanges:   []*tfjson.DeferredResourceChange{nil, {}},
		OutputChanges:     map[string]*tfjson.Change{"o": nil},
		ActionInvocations: []*tfjson.ActionInvocation{nil},
		Config: &tfjson.Config{RootModule: &tfjson.ConfigModule{
			Resources:   []*tfjson.ConfigResource{nil},
			ModuleCalls: map[string]*tfjson.ModuleCall{"m": nil, "n": {}},
		}},
	}
	if got := mustHash(t, p); got != emptyHash {
		t.Errorf("got %s, want the empty hash", got)
	}
}
