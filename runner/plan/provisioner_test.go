package plan

import "testing"

// Two plans that create one resource with different commands must not hash equal, in the root
// and in a module.
func TestHashCoversProvisioners(t *testing.T) {
	plan := func(rootCommand, moduleCommand string) string {
		resource := func(command string) string {
			return `"resources":[{"address":"x.a","type":"x","name":"a","provisioners":[{"type":"local-exec","expressions":{"command":{"constant_value":"` + command + `"}}}]}]`
		}
		return mustHash(t, planOf(t, `
			"resource_changes":[
				{"address":"x.a","type":"x","name":"a","change":{"actions":["create"]}},
				{"address":"module.m[\"k\"].module.n.x.a[1]","module_address":"module.m[\"k\"].module.n","type":"x","name":"a","index":1,"change":{"actions":["create"]}}],
			"configuration":{"root_module":{`+resource(rootCommand)+`,"module_calls":{"s1":{"module":{}},"s2":{"module":{}},"s3":{},"s4":{},"m":{"module":{"module_calls":{"n":{"module":{`+resource(moduleCommand)+`}}}}}}}}`))
	}
	base := plan("a", "b")
	if plan("a", "b") != base {
		t.Error("one plan has two hashes")
	}
	if plan("x", "b") == base {
		t.Error("the command of the root resource is not in the hash")
	}
	if plan("a", "x") == base {
		t.Error("the command of the module's resource is not in the hash")
	}
}
