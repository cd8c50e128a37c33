package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/redact"
)

func TestDiffOfOneInstance(t *testing.T) {
	mark := func(steps string) string { return `,"sensitive_attributes":[[` + steps + `]]` }
	attr := func(name string) string { return `{"type":"get_attr","value":"` + name + `"}` }
	for _, c := range []struct {
		name, kind    string
		before, after string // fields of the instance
		want          []Value
		notes         []string
	}{
		{name: "null is no value", before: `"attributes":{"a":null}`, after: `"attributes":{}`},
		{name: "one that comes", before: `"attributes":{"a":null}`, after: `"attributes":{"a":"<&>"}`, want: []Value{{Path: "a", Action: Added, After: ptr(`"<&>"`)}}},
		{name: "one that goes", before: `"attributes":{"a":[1]}`, after: `"attributes":{"a":[]}`, want: []Value{{Path: "a[0]", Action: Removed, Before: ptr(`1`)}}},
		{
			name:   "numbers are kept as they are written",
			before: `"attributes":{"a":12345678901234567890}`, after: `"attributes":{"a":12345678901234567891}`,
			want: []Value{{Path: "a", Action: Changed, Before: ptr("12345678901234567890"), After: ptr("12345678901234567891")}},
		},
		{
			name:   "a key that is no identifier",
			before: `"attributes":{"tags":{"a/b":"1"}}`, after: `"attributes":{"tags":{"a/b":"2"}}`,
			want: []Value{{Path: `tags["a/b"]`, Action: Changed, Before: ptr(`"1"`), After: ptr(`"2"`)}},
		},
		{
			name:   "a marked object, once, without its keys",
			before: `"attributes":{"m":{"k1":"hunter2-hunter2","k2":"x"}}` + mark(attr("m")), after: `"attributes":{"m":{"k3":"swordfish-0"}}`,
			want: []Value{{Path: "m", Action: Changed, Sensitive: true}},
		},
		{
			name:   "a mark of the second state only",
			before: `"attributes":{"a":"hunter2-hunter2"}`, after: `"attributes":{"a":"swordfish-0"}` + mark(attr("a")),
			want: []Value{{Path: "a", Action: Changed, Sensitive: true}},
		},
		{
			name:   "a mark by index",
			before: `"attributes":{"l":["hunter2-hunter2","b"]}` + mark(attr("l")+`,{"type":"index","value":{"value":0,"type":"number"}}`),
			after:  `"attributes":{"l":["swordfish-0","c"]}` + mark(attr("l")+`,{"type":"index","value":{"value":0,"type":"number"}}`),
			want:   []Value{{Path: "l[0]", Action: Changed, Sensitive: true}, {Path: "l[1]", Action: Changed, Before: ptr(`"b"`), After: ptr(`"c"`)}},
		},
		{
			name:   "a mark below a text that becomes an object",
			before: `"attributes":{"a":"text"}`, after: `"attributes":{"a":{"b":true}}` + mark(attr("a")+","+attr("b")),
			want: []Value{{Path: "a", Action: Changed, Sensitive: true}},
		},
		{
			name:   "a mark that may be of an attribute called value, or of one of any type",
			before: `"attributes":{"a":{"value":"hunter2-hunter2","type":"string"}}` + mark(attr("a")+","+attr("value")),
			after:  `"attributes":{"a":{"value":"swordfish-0","type":"string"}}`,
			want:   []Value{{Path: "a.value", Action: Changed, Sensitive: true}},
		},
		{
			name:   "an object that only looks like an attribute of any type",
			before: `"attributes":{"a":{"value":"one","type":"TXT"}}`, after: `"attributes":{"a":{"value":"two","type":"MX"}}`,
			want: []Value{
				{Path: "a.type", Action: Changed, Before: ptr(`"TXT"`), After: ptr(`"MX"`)},
				{Path: "a.value", Action: Changed, Before: ptr(`"one"`), After: ptr(`"two"`)},
			},
		},
		{
			name:   "a resource that is a secret by its type",
			kind:   "random_password",
			before: `"attributes":{"result":"hunter2-hunter2"}`, after: `"attributes":{"result":"swordfish-0"}`,
			want: []Value{{Path: "result", Action: Changed, Sensitive: true}},
		},
		{
			name:   "a secret inside of another value, as JSON",
			before: `"attributes":{"password":"hunter2-hunter2","policy":"{\"p\":\"hunter2-hunter2\"}"}`,
			after:  `"attributes":{"password":"hunter2-hunter2","policy":"{\"p\":\"hunter2-hunter2\",\"q\":1}"}`,
			want:   []Value{{Path: "policy", Action: Changed, Before: ptr(`"{\"p\":\"(sensitive)\"}"`), After: ptr(`"{\"p\":\"(sensitive)\",\"q\":1}"`)}},
		},
		{
			name:   "everything but attributes",
			before: `"status":"tainted","schema_version":0,"private":"aHVudGVyMi1odW50ZXIy","dependencies":["a.b"]`,
			after:  `"schema_version":1,"private":"c3dvcmRmaXNo","dependencies":["c.d"],"create_before_destroy":true`,
			notes: []string{
				"status: tainted to ready", "schema version: 0 to 1", "create_before_destroy: false to true", "depends on c.d",
				"depends no more on a.b", "what the provider keeps for itself has changed",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := "x_y"
			if c.kind != "" {
				kind = c.kind
			}
			d := diff(t, document("1", "a", resource(kind, c.before), ""), document("2", "a", resource(kind, c.after), ""))
			var got Change
			if len(d.Changed) > 0 {
				got = d.Changed[0]
			}
			if diff := cmp.Diff(c.want, got.Attributes); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.notes, got.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiffHidesOutputs(t *testing.T) {
	output := func(name, fields string) string { return document("1", "a", "", `"`+name+`":{`+fields+`}`) }
	for _, c := range []struct{ name, before, after string }{
		{"sensitive before", output("o", `"value":"hunter2-hunter2","type":"string","sensitive":true`), output("o", `"value":"swordfish-0","type":"string"`)},
		{"sensitive after", output("o", `"value":"swordfish-0","type":"string"`), output("o", `"value":"hunter2-hunter2","type":"string","sensitive":true`)},
		{"by its name", output("db_password", `"value":"hunter2-hunter2","type":"string"`), output("other", `"value":"1","type":"string"`)},
		{"by a name in it", output("o", `"value":{"token":"hunter2-hunter2"},"type":["object",{"token":"string"}]`), output("o", `"value":{},"type":["object",{}]`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := diff(t, c.before, c.after).Outputs; len(got) == 0 || !got[0].Sensitive && !got[len(got)-1].Sensitive {
				t.Errorf("got %+v, want a sensitive output", got)
			}
		})
	}
}

func TestDiffHidesASensitiveOutputInOtherValues(t *testing.T) {
	output := `"o":{"value":"hunter2-hunter2","type":"string","sensitive":true}`
	attribute := func(text string) string {
		return resource("x_y", `"attributes":{"motd":"`+text+` hunter2-hunter2"}`)
	}
	d := diff(t, document("1", "a", attribute("login"), output), document("2", "a", attribute("logout"), output))
	want := []Value{{Path: "motd", Action: Changed, Before: ptr(`"login (sensitive)"`), After: ptr(`"logout (sensitive)"`)}}
	if diff := cmp.Diff(want, d.Changed[0].Attributes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A secret of a few characters is in many other words: it is hidden where it is the
// whole of a value.
func TestDiffHidesCopiesOfAShortSecret(t *testing.T) {
	output := `"o":{"value":"a1","type":"string","sensitive":true}`
	attributes := func(motd, code string) string {
		return resource("x_y", `"attributes":{"motd":"`+motd+`","code":`+code+`}`)
	}
	d := diff(t, document("1", "a", attributes("data1", `"a1"`), output), document("2", "a", attributes("data12", `"b2"`), output))
	want := []Value{
		{Path: "code", Action: Changed, Before: ptr(redact.Placeholder), After: ptr(`"b2"`)},
		{Path: "motd", Action: Changed, Before: ptr(`"data1"`), After: ptr(`"data12"`)},
	}
	if diff := cmp.Diff(want, d.Changed[0].Attributes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffCutsLongValues(t *testing.T) {
	long := strings.Repeat("é", MaxValue)
	d := diff(t, document("1", "a", "", ""), document("2", "a", "", `"o":{"value":"`+long+`","type":"string"}`))
	got := *d.Outputs[0].After
	if len(got) > MaxValue+30 || !strings.HasSuffix(got, "... (1026 bytes)") {
		t.Errorf("a value of %d bytes became %q", len(long), got)
	}
}

func TestDiffTellsDeposedObjectsApart(t *testing.T) {
	current, deposed := `"attributes":{"id":"new"}`, `"deposed":"0badcafe","attributes":{"id":"old"}`
	d := diff(t, document("1", "a", resource("x_y", current+"},{"+deposed), ""), document("2", "a", resource("x_y", current), ""))
	want := []Reference{{Address: "x_y.x", Deposed: "0badcafe", Mode: "managed", Provider: "example.test/a/b"}}
	if diff := cmp.Diff(want, d.Removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}
