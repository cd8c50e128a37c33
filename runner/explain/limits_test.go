package explain

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/state"
)

func TestReadRefusesWhatIsNoState(t *testing.T) {
	good := document("1", "a", "", "")
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "ends in the middle"},
		{"cut short", good[:len(good)/2], "ends in the middle"},
		{"a web page", "<html>", "invalid character '<'"},
		{"a list", "[]", "want {"},
		{"a compressed one", "\x1f\x8b\x08", "it is gzip: decompress it first"},
		{"something behind it", good + "{}", "something behind"},
		{"another document", `{"kind":"Secret"}`, "it has no version"},
		{"version 3", `{"version":3}`, "it has version 3, this program reads 4"},
		{"resources that are none", `{"version":4,"resources":{}}`, "want ["},
		{"a mark of an unknown kind", document("1", "a", resource("x_y", `"sensitive_attributes":[[{"type":"magic","value":1}]]`), ""), `x_y.x: sensitive_attributes: a step of type "magic"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text))
			if !errors.Is(err, state.Corrupt) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want StateCorrupt and %q", err, c.want)
			}
		})
	}
}

// spaces is endless white space.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestReadStopsAtALimit(t *testing.T) {
	r := io.MultiReader(strings.NewReader(document("1", "a", "", "")), spaces{})
	err := (&visitor{}).walkUpTo(r, 1<<20)
	if !errors.Is(err, state.Corrupt) || !strings.Contains(fmt.Sprint(err), "more than 1048576 bytes") {
		t.Errorf("error %v, want StateCorrupt for its size", err)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error)  { return 0, b.err }
func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestErrorsOfReaderAndWriterComeBack(t *testing.T) {
	cause := errors.New("cable cut")
	if _, err := Read(broken{cause}); !errors.Is(err, cause) || errors.Is(err, state.Corrupt) {
		t.Errorf("Read: error %v, want that of the reader", err)
	}
	text := document("1", "a", resource("x_y", ""), "")
	d := read(t, text)
	if err := d.WriteText(broken{cause}); !errors.Is(err, cause) {
		t.Errorf("Document.WriteText: error %v, want that of the writer", err)
	}
	if err := diff(t, text, document("2", "a", "", "")).WriteText(broken{cause}); !errors.Is(err, cause) {
		t.Errorf("Difference.WriteText: error %v, want that of the writer", err)
	}
}

func TestReadKnowsTheRuntimeByItsRegistry(t *testing.T) {
	from := func(hosts ...string) string {
		var all []string
		for i, host := range hosts {
			all = append(all, fmt.Sprintf(`{"mode":"managed","type":"a_b","name":"n%d","provider":"provider[\"%s/a/b\"]","instances":[]}`, i, host))
		}
		return document("1", "a", strings.Join(all, ","), "")
	}
	for _, c := range []struct {
		name, text, want string
	}{
		{"OpenTofu", from("registry.opentofu.org", "example.test"), "OpenTofu"},
		{"Terraform", from("registry.terraform.io"), "Terraform"},
		{"both", from("registry.terraform.io", "registry.opentofu.org"), ""},
		{"neither", from("example.test"), ""},
	} {
		if got := read(t, c.text).Runtime; got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestReadAdvice(t *testing.T) {
	text := `{"version":4,"serial":7,"lineage":"a","resources":[
		{"module":"module.m[\"a]b\"]","mode":"managed","type":"a_b","name":"x","provider":"provider[\"registry.terraform.io/-/aws\"]",
		 "instances":[{"deposed":"0badcafe"}]},
		{"mode":"managed","type":"a_b","name":"y","instances":[{"provider":"module.m.provider[\"example.test/a/b\"].c","dependencies":["module.m.a_b.x"]}]}],
		"check_results":[{"object_kind":"check","config_addr":"check.health","status":"fail"},{"object_kind":"check","config_addr":"check.ok","status":"pass"}]}`
	d := read(t, text)
	for topic, want := range map[string]string{
		Push: "its serial below 7|deposed, so the next apply destroys the old object: module.m[\"a]b\"].a_b.x|" +
			"a check has not passed: check.health (fail)|replace-provider first: registry.terraform.io/-/aws",
		Move:   "module.m[\"a]b\"].a_b.x (1)",
		Remove: "goes on existing|module.m[\"a]b\"].a_b.x (1)",
		Keep:   "nothing in it is known to be sensitive",
	} {
		for part := range strings.SplitSeq(want, "|") {
			if got := advised(d, topic); !strings.Contains(got, part) {
				t.Errorf("%s: no %q in\n%s", topic, part, got)
			}
		}
	}
	if diff := cmp.Diff([]Count{{"example.test/a/b.c", 1, 1, 0}, {"registry.terraform.io/-/aws", 1, 1, 0}}, d.Providers); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

// FuzzDiff sees that what can be explained can be compared with itself, and that nothing panics.
func FuzzDiff(f *testing.F) {
	f.Add(document("1", "a", resource("x_y", `"attributes":{"a":[1,{"b":null}],"c":{"value":1,"type":"number"}},"sensitive_attributes":[[{"type":"get_attr","value":"a"}]]`), ""),
		document("2", "a", "", `"o":{"value":{"k":1},"type":["object",{"k":"number"}],"sensitive":true}`))
	f.Add(`{"encryption_version":"v0","meta":{"key_provider.a.b":"x"},"serial":1,"lineage":"l"}`, `{"version":4,"meta":{"x":1}}`)
	f.Add(`{"version":4,"resources":[{"module":"m[\"","instances":[{"index_key":"${a}"},{"index_key":[]}]}]}`, "null")
	f.Fuzz(func(t *testing.T, before, after string) {
		d, err := Read(strings.NewReader(before))
		if err != nil {
			return
		}
		if err := d.WriteText(io.Discard); err != nil {
			t.Error(err)
		}
		same, err := Diff(strings.NewReader(before), strings.NewReader(before))
		if err != nil || !same.Same {
			t.Errorf("with itself: %+v, error %v", same, err)
		}
		if other, err := Diff(strings.NewReader(before), strings.NewReader(after)); err == nil {
			if err := other.WriteText(io.Discard); err != nil {
				t.Error(err)
			}
		}
	})
}

// A document that says little is not explained with what it does not say.
func TestExplainsNoLineage(t *testing.T) {
	d, err := Read(strings.NewReader(`{"version":4}`))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := d.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if s := text.String(); strings.Contains(s, "envelope") || strings.Contains(s, "has to be") || !strings.Contains(s, "it has no lineage") {
		t.Error(s)
	}
}
