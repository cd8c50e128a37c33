package explain

import (
	"strings"
	"testing"
)

// keyed is a state in which a secret is a key of for_each, of a module, and of maps.
func keyed(serial, more string) string {
	const secret = "swordfish-0"
	return document(serial, "a", `{"module":"module.m[\"`+secret+`\"]","mode":"managed","type":"x_y","name":"x","provider":"provider[\"example.test/a/b\"]",
		"instances":[{"index_key":"`+secret+`/1","attributes":{"closed":"`+secret+`","tags":{"`+secret+`":"`+more+`","my key `+secret+`":"`+more+`","api_key_`+secret+`":"k"}},
		"dependencies":["module.m.x_y.x"],"sensitive_attributes":[[{"type":"get_attr","value":"closed"}]]}]}`, "")
}

func TestSecretsAreHiddenInKeys(t *testing.T) {
	d := read(t, keyed("1", "a"))
	if got := d.Resources[0].Instances[0].Address; got != `module.m["(sensitive)"].x_y.x["(sensitive)/1"]` {
		t.Errorf("address %s", got)
	}
	if len(d.Resources[0].NeededBy) != 1 {
		t.Errorf("needed by %q", d.Resources[0].NeededBy)
	}
	change := diff(t, keyed("1", "a"), keyed("2", "b")).Changed
	if len(change) != 1 || len(change[0].Attributes) != 2 {
		t.Fatalf("got %+v", change)
	}
	var paths []string
	for _, v := range change[0].Attributes {
		paths = append(paths, v.Path)
	}
	if got := strings.Join(paths, " "); got != `tags["my key (sensitive)"] tags.(sensitive)` {
		t.Errorf("paths %s", got)
	}
	all := diff(t, document("1", "a", "", ""), keyed("2", "b"))
	if got := all.Added[0].Address; got != `module.m["(sensitive)"].x_y.x["(sensitive)/1"]` {
		t.Errorf("added %s", got)
	}
	diff(t, keyed("1", "a"), document("2", "a", "", ""))
	diff(t, keyed("1", "a"), strings.ReplaceAll(keyed("2", "a"), "swordfish-0/1", "swordfish-0/2"))
}
