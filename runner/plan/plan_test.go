package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
)

var testKey = bytes.Repeat([]byte("k"), MinKeySize)

// load reads a plan that a real runtime wrote: see testdata/generate.sh.
func load(t *testing.T, name string) *tfjson.Plan {
	t.Helper()
	return decode(t, read(t, name))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, b []byte) *tfjson.Plan {
	t.Helper()
	var p tfjson.Plan
	p.UseJSONNumber(true)
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatalf("decode plan: %v", err)
	}
	return &p
}

// planOf decodes a plan with the given members next to its format version.
func planOf(t *testing.T, members string) *tfjson.Plan {
	t.Helper()
	return decode(t, []byte(`{"format_version":"1.2",`+members+`}`))
}

func mustHash(t *testing.T, p *tfjson.Plan) string {
	t.Helper()
	h, err := Hash(p, testKey)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
