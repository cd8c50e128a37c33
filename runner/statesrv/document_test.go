package statesrv

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDocument(t *testing.T) {
	const resources = `"resources":[{"serial":99,"lineage":"inner","encrypted_data":"x"}]`
	for _, c := range []struct {
		name, body string
		want       Document
		status     int
	}{
		{"plain", `{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"l",` + resources + `}`, Document{3, "l", false}, 200},
		{"no resources", `{"version":4,"serial":0,"lineage":"l","outputs":{},"resources":[]}`, Document{0, "l", false}, 200},
		{"largest serial", `{"version":4,"serial":18446744073709551615,"lineage":"l"}`, Document{1<<64 - 1, "l", false}, 200},
		{"encrypted, envelope", `{"serial":2,"lineage":"l","meta":{},"encrypted_data":"AA==","encryption_version":"v0"}`, Document{2, "l", true}, 200},
		{"encrypted, no envelope", `{"meta":{},"encrypted_data":"AA==","encryption_version":"v0"}`, Document{0, "", true}, 200},
		{"encrypted, half an envelope", `{"serial":7,"encrypted_data":"AA=="}`, Document{0, "", true}, 200},
		{"empty", "", Document{}, 400},
		{"blank", "  \n", Document{}, 400},
		{"null", "null", Document{}, 400},
		{"number", "4", Document{}, 400},
		{"array", `[{"version":4,"serial":1,"lineage":"l"}]`, Document{}, 400},
		{"arbitrary", `{"hello":"world"}`, Document{}, 400},
		{"HTML", "<html></html>", Document{}, 400},
		{"torn", `{"version":4,"serial":1,"lineage":"l"`, Document{}, 400},
		{"two", `{"version":4,"serial":1,"lineage":"l"}{}`, Document{}, 400},
		{"byte order mark", "\ufeff" + `{"version":4,"serial":1,"lineage":"l"}`, Document{}, 400},
		{"version 3", `{"version":3,"serial":1,"lineage":"l"}`, Document{}, 400},
		{"version is a string", `{"version":"four","serial":1,"lineage":"l"}`, Document{}, 400},
		{"version 4 as a string", `{"version":"4","serial":1,"lineage":"l"}`, Document{}, 400},
		{"version 4.0", `{"version":4.0,"serial":1,"lineage":"l"}`, Document{}, 400},
		{"no version", `{"serial":1,"lineage":"l"}`, Document{}, 400},
		{"no serial", `{"version":4,"lineage":"l"}`, Document{}, 400},
		{"negative serial", `{"version":4,"serial":-1,"lineage":"l"}`, Document{}, 400},
		{"fractional serial", `{"version":4,"serial":1.5,"lineage":"l"}`, Document{}, 400},
		{"no lineage", `{"version":4,"serial":1}`, Document{}, 400},
		{"empty lineage", `{"version":4,"serial":1,"lineage":""}`, Document{}, 400},
		{"long lineage", `{"version":4,"serial":1,"lineage":"` + strings.Repeat("l", maxLineage+1) + `"}`, Document{}, 400},
		{"too deep", strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), Document{}, 400},
	} {
		got, err := ParseDocument([]byte(c.body))
		if status(err) != c.status || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v, %d", c.name, got, err, c.want, c.status)
		}
	}
}

func TestWithSerial(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"first", `{"serial":1,"version":4,"lineage":"l"}`, `{"serial":42,"version":4,"lineage":"l"}`},
		{"among others", "{\n  \"version\": 4,\n  \"lineage\": \"l\",\n  \"serial\": 17 ,\n \"resources\":[{\"serial\":1}]\n}\n",
			"{\n  \"version\": 4,\n  \"lineage\": \"l\",\n  \"serial\": 42 ,\n \"resources\":[{\"serial\":1}]\n}\n"},
		{"twice", `{"serial":1,"version":4,"lineage":"l","serial":2}`, `{"serial":1,"version":4,"lineage":"l","serial":42}`},
		{"inner one first", `{"version":4,"a":{"serial":1},"lineage":"l","serial":1}`, `{"version":4,"a":{"serial":1},"lineage":"l","serial":42}`},
	} {
		doc, got, err := withSerial([]byte(c.body), Version{Lineage: "l"}, 42)
		if err != nil || string(got) != c.want || doc.Serial != 42 {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	if _, _, err := withSerial([]byte(`{"version":4,"lineage":"l","serial":1,"SERIAL":2}`), Version{Lineage: "l"}, 42); status(err) != 409 {
		t.Errorf("a serial in two spellings: %v, want 409", err)
	}
}

// FuzzFields: a document has the fields that encoding/json finds in it, byte for
// byte, and is taken for what encoding/json would take it for.
func FuzzFields(f *testing.F) {
	for _, body := range []string{`{}`, ` { "a" : 1 , "b":"\\\"}" } `, `{"a":[{"b":"]"},[]],"c":{"d":{}},"e":-1.5e3,"f":null,"\u0061":true}`,
		`{"version":4,"serial":1,"lineage":"l"}`, `{"Version":4,"SERIAL":1,"lineage":"\\"}`, `{"serial":null,"serial":7,"version":4,"lineage":"l"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil || want == nil {
			if _, err := ParseDocument(body); status(err) != 400 {
				t.Errorf("%q: %v, want a refusal with 400", body, err)
			}
			return
		}
		got := map[string]json.RawMessage{}
		scan(body, func(name string, at span) { got[name] = body[at.from:at.to] })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", body, diff)
		}
		sameAsDecoder(t, body)
	})
}

// sameAsDecoder checks that whoever decodes the document reads the same of it.
func sameAsDecoder(t *testing.T, body []byte) {
	t.Helper()
	var want struct {
		Serial  *uint64
		Lineage *string
	}
	doc, err := ParseDocument(body)
	if err != nil || doc.Lineage == "" {
		return
	}
	if err := json.Unmarshal(body, &want); err != nil || *want.Serial != doc.Serial || *want.Lineage != doc.Lineage {
		t.Errorf("%q is %+v here, %+v, %v to a decoder", body, doc, want, err)
	}
}

// FuzzDocument: a body is refused with 400, or is a state whose serial can be
// replaced without a change to anything else.
func FuzzDocument(f *testing.F) {
	for _, body := range []string{"", "{}", `{"version":4,"serial":1,"lineage":"l"}`, `{"encrypted_data":null}`,
		`{"Version":4,"SERIAL":1,"lineage":"l"}`, `{"version":4,"serial":1,"lineage":"l","serial":3}`, `{"version":4.0,"serial":1e0,"lineage":"l"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, err := ParseDocument(body)
		if err != nil {
			if status(err) != 400 {
				t.Errorf("error %v is no refusal with 400", err)
			}
			return
		}
		if doc.Opaque {
			return
		}
		again, data, err := withSerial(body, Version{Lineage: doc.Lineage}, doc.Serial+1)
		if err == nil && (again.Serial != doc.Serial+1 || again.Lineage != doc.Lineage) {
			t.Errorf("%q became %q: %+v", body, data, again)
		}
	})
}
