package root

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tfvars")
	text := `
password = "hunter2"
port     = 8080
on       = true
none     = null
nested   = { users = [{ name = "a", token = "t-1" }, { name = "b", token = "t-2" }] }
heredoc  = <<-END
  line one
  line two
END
unknown  = var.other
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Values(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range got {
		slices.Sort(values)
	}
	want := map[string][]string{
		"password": {"hunter2"}, "port": {"8080"}, "on": nil, "none": nil,
		"nested": {"a", "b", "t-1", "t-2"}, "heredoc": {"line one\nline two\n"}, "unknown": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.tf":      "variable \"a\" {\n  default = { k = [\"x\", 1] }\n}\n",
		"b.tf.json": `{"variable": {"b": {"default": {"k": ["y", 2]}, "sensitive": true}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Variable{"a": {Default: []string{"x", "1"}}, "b": {Sensitive: true, Default: []string{"y", "2"}}}
	if diff := cmp.Diff(want, m.Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}
