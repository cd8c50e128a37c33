package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// read explains a state, and sees that no form of the explanation has a secret.
func read(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var people strings.Builder
	if err := d.WriteText(&people); err != nil {
		t.Fatal(err)
	}
	hasNoSecret(t, "the text", people.String())
	program, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	hasNoSecret(t, "the JSON", string(program))
	return d
}

func TestReadExplainsStatesOfBothRuntimes(t *testing.T) {
	eachRuntime(t, func(t *testing.T, w workdir) {
		text := w.applied(t)
		for _, s := range secrets {
			if !strings.Contains(text, s) {
				t.Fatalf("the state lacks %q: the test would see nothing", s)
			}
		}
		d := read(t, text)
		var raw struct {
			Serial           uint64
			Lineage          string
			TerraformVersion string `json:"terraform_version"`
		}
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		want := &Document{
			Bytes: int64(len(text)), FormatVersion: 4, ToolVersion: raw.TerraformVersion, Serial: raw.Serial, Lineage: raw.Lineage,
			Modules:   []Count{{"(root)", 3, 4, 0}, {"module.child[0]", 2, 2, 1}, {"module.child[1]", 2, 2, 1}},
			Types:     []Count{{"terraform_data", 5, 5, 0}, {"probe_file", 2, 3, 0}, {"terraform_remote_state", 0, 0, 2}},
			Providers: []Count{{"terraform.io/builtin/terraform", 5, 5, 2}, {"example.test/captf/probe.other", 1, 2, 0}, {"example.test/captf/probe", 1, 1, 0}},
			Outputs:   []Output{{"closed", `"string"`, true}, {"open", `"string"`, false}},
		}
		if diff := cmp.Diff(want, d, cmpopts.IgnoreFields(Document{}, "Digest", "Resources", "Sensitive", "NextWrite", "Advice")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		checkSensitive(t, w, d)
		checkResource(t, d)
	})
}

// checkSensitive knows that Terraform 1.5 does not write down what a provider's schema marks.
func checkSensitive(t *testing.T, w workdir, d *Document) {
	t.Helper()
	bySchema := Marked
	if w.runtime.Name == "terraform" {
		bySchema = Named
	}
	want := []Sensitive{
		{"output.closed", "", Marked},
		{"probe_file.first", "content", Marked},
		{"probe_file.first", "secret", bySchema},
		{"terraform_data.nested", "input.closed", Marked},
		{"terraform_data.nested", "input.password", Named},
		{"terraform_data.nested", "output.password", Named},
	}
	if diff := cmp.Diff(want, d.Sensitive); diff != "" {
		t.Errorf("sensitive (-want +got):\n%s", diff)
	}
}

func checkResource(t *testing.T, d *Document) {
	t.Helper()
	want := Resource{
		Address: "probe_file.second", Mode: "managed", Type: "probe_file", Name: "second", Provider: "example.test/captf/probe.other",
		Instances: []Instance{{Address: `probe_file.second["a"]`}, {Address: `probe_file.second["b/\"c\""]`}},
		DependsOn: []string{"probe_file.first"},
		NeededBy: []string{
			"module.child[0].terraform_data.x", "module.child[0].terraform_data.y", "module.child[1].terraform_data.x", "module.child[1].terraform_data.y",
		},
	}
	for _, r := range d.Resources {
		if r.Address == want.Address {
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("resource (-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Errorf("no %s in %+v", want.Address, d.Resources)
}

func TestReadWarnsOfTaintedInstances(t *testing.T) {
	eachRuntime(t, func(t *testing.T, w workdir) {
		w.apply(t, `resource "terraform_data" "x" { count = 2 }`)
		d := read(t, w.must(t, "taint", "terraform_data.x[1]"))
		want := []Instance{{Address: "terraform_data.x[0]"}, {Address: "terraform_data.x[1]", Tainted: true}}
		if diff := cmp.Diff(want, d.Resources[0].Instances); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := advised(d, Push); !strings.Contains(got, "tainted, so the next apply replaces it: terraform_data.x[1]") {
			t.Errorf("the advice before a push is\n%s", got)
		}
	})
}

func advised(d *Document, topic string) string { return strings.Join(d.adviceOn(topic), "\n") }

// encryption is a configuration that makes OpenTofu encrypt its state.
const encryption = `
terraform {
  encryption {
    key_provider "pbkdf2" "team" {
      passphrase = "correct-horse-battery-staple"
      iterations = 200000
    }
    method "aes_gcm" "strong" { keys = key_provider.pbkdf2.team }
    state { method = method.aes_gcm.strong }
  }
}
`

func TestReadShowsTheEnvelopeOfAnEncryptedState(t *testing.T) {
	eachRuntime(t, func(t *testing.T, w workdir) {
		if w.runtime.Name != "tofu" {
			return // Terraform cannot encrypt
		}
		d := read(t, w.apply(t, encryption+`resource "terraform_data" "x" {}`))
		want := &Encryption{Version: "v0", KeyProviders: []string{"key_provider.pbkdf2.team"}}
		if diff := cmp.Diff(want, d.Encryption); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if d.Serial != 1 || d.Lineage == "" || d.Resources != nil {
			t.Errorf("serial %d, lineage %q, resources %v; want 1, one and none", d.Serial, d.Lineage, d.Resources)
		}
		if got := advised(d, Move); !strings.Contains(got, "same encryption configuration") {
			t.Errorf("the advice before a move is\n%s", got)
		}
	})
}
