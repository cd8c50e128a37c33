package root

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes a directory of files; a name that ends in / is a directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func backend(kind, file string, line int) *Backend {
	return &Backend{Type: kind, Location: Location{File: file, Line: line}}
}

func TestScanBackend(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		backend *Backend
		cloud   *Location
		broken  []string
	}{
		{name: "empty directory"},
		{name: "none", files: map[string]string{"main.tf": `resource "terraform_data" "a" {}`}},
		{name: "native", files: map[string]string{"main.tf": "terraform {\n  required_version = \">= 1\"\n  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n"}, backend: backend("s3", "main.tf", 3)},
		{name: "one line, which HCL refuses", files: map[string]string{"main.tf": "terraform { backend \"http\" {} }"}, broken: []string{"main.tf"}},
		{name: "label without quotes", files: map[string]string{"main.tf": "terraform {\n backend http {}\n}"}, backend: backend("http", "main.tf", 2)},
		{name: "several terraform blocks", files: map[string]string{"a.tf": "terraform {}\nterraform {\n  backend \"pg\" {}\n}\n"}, backend: backend("pg", "a.tf", 3)},
		{name: "cloud", files: map[string]string{"main.tf": "terraform {\n  cloud {\n    organization = \"o\"\n  }\n}\n"}, cloud: &Location{"main.tf", 2}},
		{name: "two backends: the first", files: map[string]string{"b.tf": "terraform {\n backend \"s3\" {}\n}", "a.tf": "terraform {\n backend \"gcs\" {}\n}"}, backend: backend("gcs", "a.tf", 2)},
		{name: "two backends in a file: the first", files: map[string]string{"a.tf": "terraform {\n backend \"gcs\" {}\n backend \"s3\" {}\n}"}, backend: backend("gcs", "a.tf", 2)},
		{name: "two clouds: the first", files: map[string]string{"b.tf": "terraform {\n cloud {}\n}", "a.tf": "terraform {\n\n cloud {}\n cloud {}\n}"}, cloud: &Location{"a.tf", 3}},
		{name: "attribute of that name", files: map[string]string{"main.tf": "terraform {\n  backend = \"s3\"\n}\nlocals {\n  backend = { s3 = {} }\n}\n"}},

		{name: "in comments", files: map[string]string{"main.tf": "# terraform { backend \"s3\" {} }\n// terraform { backend \"s3\" {} }\n/*\nterraform {\n  backend \"s3\" {}\n}\n*/\n"}},
		{name: "in a heredoc", files: map[string]string{"main.tf": "locals {\n  x = <<-EOT\n    terraform {\n      backend \"s3\" {}\n    }\n  EOT\n}\n"}},
		{name: "in a string", files: map[string]string{"main.tf": `locals { x = "terraform { backend \"s3\" {} }" }`}},
		{name: "in another block", files: map[string]string{"main.tf": "resource \"x\" \"terraform\" {\n  terraform {\n    backend \"s3\" {}\n  }\n}\n"}},

		{name: "json", files: map[string]string{"main.tf.json": "{\"terraform\":{\n\"backend\":{\"s3\":{}}}}"}, backend: backend("s3", "main.tf.json", 2)},
		{name: "json arrays", files: map[string]string{"main.tf.json": `{"terraform":[{"backend":[{"http":{}}]}]}`}, backend: backend("http", "main.tf.json", 1)},
		{name: "json array at the root", files: map[string]string{"main.tf.json": `[{"terraform":{"backend":{"http":[{}]}}}]`}, backend: backend("http", "main.tf.json", 1)},
		{name: "json repeated key", files: map[string]string{"main.tf.json": `{"terraform":{"backend":{"http":{}}},"terraform":{"required_version":">1"}}`}, backend: backend("http", "main.tf.json", 1)},
		{name: "json escaped key", files: map[string]string{"main.tf.json": `{"terraform":{"\u0062ackend":{"http":{}}}}`}, backend: backend("http", "main.tf.json", 1)},
		{name: "json cloud", files: map[string]string{"main.tf.json": `{"//":"comment","terraform":{"cloud":{}}}`}, cloud: &Location{"main.tf.json", 1}},
		{name: "json null", files: map[string]string{"main.tf.json": `{"terraform":null}`}},
		{name: "json of the wrong shape", files: map[string]string{"main.tf.json": `{"terraform":{"backend":"s3"}}`}, broken: []string{"main.tf.json"}},
		{name: "json variable of the wrong shape", files: map[string]string{"main.tf.json": `{"variable":{"a":[5]}}`}, broken: []string{"main.tf.json"}},
		{name: "json broken", files: map[string]string{"main.tf.json": `{"terraform":{"backend":{"s3":`}, broken: []string{"main.tf.json"}},

		{name: "override", files: map[string]string{"main.tf": "terraform {\n cloud {}\n}", "override.tf": "terraform {\n backend \"http\" {}\n}"}, backend: backend("http", "override.tf", 2)},
		{name: "override with cloud", files: map[string]string{"z.tf": "terraform {\n backend \"s3\" {}\n}", "a_override.tf": "terraform {\n cloud {}\n}"}, cloud: &Location{"a_override.tf", 2}},
		{name: "override of something else", files: map[string]string{"main.tf": "terraform {\n backend \"s3\" {}\n}", "x_override.tf": "terraform {}\nvariable \"a\" {}"}, backend: backend("s3", "main.tf", 2)},
		{name: "last override", files: map[string]string{"a_override.tf.json": `{"terraform":{"backend":{"s3":{}}}}`, "b_override.tf.json": `{"terraform":{"backend":{"pg":{}}}}`}, backend: backend("pg", "b_override.tf.json", 1)},
		{name: "our own override", files: map[string]string{"main.tf": "", OverrideName: string(Override("kubernetes"))}, backend: backend("kubernetes", OverrideName, 1)},
		{name: "no override by its middle", files: map[string]string{"a.tf": "terraform {\n backend \"s3\" {}\n}", "my_override_b.tf": "terraform {\n backend \"pg\" {}\n}"}, backend: backend("s3", "a.tf", 2)},

		{name: "tofu instead of tf", files: map[string]string{"main.tf": "terraform {\n backend \"s3\" {}\n}", "main.tofu": "terraform {\n backend \"pg\" {}\n}"}, backend: backend("pg", "main.tofu", 2)},
		{name: "tofu.json beside tf", files: map[string]string{"main.tf": "terraform {\n backend \"s3\" {}\n}", "main.tofu.json": `{}`}, backend: backend("s3", "main.tf", 2)},

		{name: "ignored names", files: map[string]string{".hidden.tf": "terraform {\n backend \"s3\" {}\n}", "main.tf~": "terraform {\n backend \"s3\" {}\n}", "x.tfvars": "", "sub/main.tf": "terraform {\n backend \"s3\" {}\n}"}},
		{name: "directory with such a name", files: map[string]string{"x.tf/": "", "y.tf": "terraform {\n backend \"s3\" {}\n}"}, backend: backend("s3", "y.tf", 2)},

		{name: "fault before the backend", files: map[string]string{"main.tf": "locals {\n x = = 1\n}\nterraform {\n backend \"s3\" {}\n}\n"}, backend: backend("s3", "main.tf", 5), broken: []string{"main.tf"}},
		{name: "fault after the backend", files: map[string]string{"main.tf": "terraform {\n backend \"s3\" {}\n}\nlocals {\n x = = 1\n}\n"}, backend: backend("s3", "main.tf", 2), broken: []string{"main.tf"}},
		{name: "label on the terraform block", files: map[string]string{"main.tf": "terraform \"x\" {\n backend \"s3\" {}\n}"}, broken: []string{"main.tf"}},
		{name: "backend without a type", files: map[string]string{"main.tf": "terraform {\n backend {}\n}"}, broken: []string{"main.tf"}},
		{name: "invalid UTF-8", files: map[string]string{"main.tf": "terraform {\n backend \"s3\" {}\n}\n\xff\xfe\n"}, backend: backend("s3", "main.tf", 2), broken: []string{"main.tf"}},
		{name: "invalid UTF-8 in a comment", files: map[string]string{"main.tf": "# \xff\nterraform {\n backend \"s3\" {}\n}\n"}, backend: backend("s3", "main.tf", 3)},
		{name: "1 MiB", files: map[string]string{"main.tf": "terraform {\n backend \"s3\" {}\n}\n" + strings.Repeat("#", 1<<20-31)}, backend: backend("s3", "main.tf", 2)},
		{name: "1 MiB and a byte", files: map[string]string{"main.tf": "terraform {\n backend \"s3\" {}\n}\n" + strings.Repeat("#", 1<<20-30)}, broken: []string{"main.tf"}},
		{name: "10 MiB", files: map[string]string{"big.tf": strings.Repeat("# 0123456789abcd\n", 10<<20/17), "main.tf": "terraform {\n backend \"s3\" {}\n}"}, backend: backend("s3", "main.tf", 2), broken: []string{"big.tf"}},
		{name: "deep brackets", files: map[string]string{"main.tf": "x = " + strings.Repeat("[", 900_000)}, broken: []string{"main.tf"}},
		{name: "many brackets and hyphens, none deep", files: map[string]string{"main.tf": strings.Repeat("# a-b ([{}])\n", 11_000) + "terraform {\n backend \"s3\" {}\n}"}, backend: backend("s3", "main.tf", 11_002)},
		{name: "deep behind closing brackets", files: map[string]string{"main.tf": "# " + strings.Repeat("]", 900_000) + "\nx = " + strings.Repeat("[", 100_000)}, broken: []string{"main.tf"}},
		{name: "deep blocks", files: map[string]string{"main.tf": strings.Repeat("a {\n", 200_000)}, broken: []string{"main.tf"}},
		{name: "deep templates", files: map[string]string{"main.tf": "x = " + strings.Repeat("\"${", 300_000)}, broken: []string{"main.tf"}},
		{name: "deep json", files: map[string]string{"main.tf.json": strings.Repeat("[", 900_000)}, broken: []string{"main.tf.json"}},
		{name: "row of operators", files: map[string]string{"main.tf": "x = " + strings.Repeat("- !", 300_000) + "1\n"}, broken: []string{"main.tf"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Scan(write(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			got := &Module{Backend: m.Backend, Cloud: m.Cloud, Broken: m.Broken}
			want := &Module{Backend: tt.backend, Cloud: tt.cloud, Broken: tt.broken}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanDialects(t *testing.T) {
	dir := write(t, map[string]string{
		"main.tf":               "terraform {\n backend \"s3\" {}\n}",
		"main.tofu":             "terraform {\n backend \"pg\" {}\n}",
		"x.tf.json":             `{}`,
		"x.tofu.json":           `{}`,
		"y.tf":                  "",
		"y.tofu.json":           `{}`,
		"z.tf":                  "",
		"z.tf.tofu":             "", // takes no other file's place
		"only.tofu":             "",
		"notes.txt":             "",
		"terraform.tfvars.json": `{}`,
	})
	tests := []struct {
		name  string
		scan  func(string) (*Module, error)
		files []string
		kind  string
	}{
		{"OpenTofu", Scan, []string{"main.tofu", "only.tofu", "x.tofu.json", "y.tf", "y.tofu.json", "z.tf", "z.tf.tofu"}, "pg"},
		{"Terraform", ScanTerraform, []string{"main.tf", "x.tf.json", "y.tf", "z.tf"}, "s3"},
	}
	for _, tt := range tests {
		m, err := tt.scan(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.files, m.Files); diff != "" {
			t.Errorf("%s files (-want +got):\n%s", tt.name, diff)
		}
		if m.Backend == nil || m.Backend.Type != tt.kind {
			t.Errorf("%s: got backend %+v, want %s", tt.name, m.Backend, tt.kind)
		}
	}
}

// Neither a pipe, which would block whoever opens it, nor a link that leads nowhere stops a
// scan; a link to a file is a file, as in a mounted Secret.
func TestScanSpecialFiles(t *testing.T) {
	dir := write(t, map[string]string{"..data/main.tf.json": `{"terraform":{"backend":{"http":{}}}}`, "dir/": ""})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.tf"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"main.tf.json": "..data/main.tf.json", "nowhere.tf": "none", "dir.tf": "dir"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(backend("http", "main.tf.json", 1), m.Backend); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"dir.tf", "nowhere.tf", "pipe.tf"}, m.Broken); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScanVariables(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  map[string]Variable
	}{
		{"none", nil, map[string]Variable{}},
		{"native", map[string]string{"v.tf": `
			variable "plain" {}
			variable "typed" {
			  type    = map(object({ a = optional(string, "x") }))
			  default = {}
			}
			variable "secret" {
			  type      = string
			  sensitive = true
			  validation {
			    condition     = var.secret != ""
			    error_message = "empty"
			  }
			}
			variable "open" { sensitive = false }
			variable "text" { sensitive = "true" }
			variable "open_text" { sensitive = "false" }
			variable "open_null" { sensitive = null }
			variable "odd" { sensitive = var.plain }
			variable "number" { sensitive = 1 }`},
			map[string]Variable{
				"plain":     {},
				"typed":     {Type: `map(object({ a = optional(string, "x") }))`},
				"secret":    {Sensitive: true, Type: "string"},
				"open":      {},
				"text":      {Sensitive: true},
				"open_text": {},
				"open_null": {},
				"odd":       {Sensitive: true},
				"number":    {Sensitive: true},
			}},
		{"json", map[string]string{"v.tf.json": `{"variable":[{"a":{"type":"list(string)","sensitive":true}},{"b":[{"sensitive":"false"}]}]}`},
			map[string]Variable{"a": {Sensitive: true, Type: "list(string)"}, "b": {}}},
		{"json of the wrong type", map[string]string{"v.tf.json": `{"variable":{"a":{"type":null},"b":{"type":5}}}`},
			map[string]Variable{"a": {Type: "null"}, "b": {Type: "5"}}},
		{"every default counts", map[string]string{"a.tf": `variable "a" { default = "x" }`, "a_override.tf": `variable "a" { default = "y" }`},
			map[string]Variable{"a": {Default: []string{"x", "y"}}}},
		{"override keeps what it does not say", map[string]string{
			"a.tf":          "variable \"a\" {\n type = string\n sensitive = true\n}\nvariable \"b\" {\n type = string\n}",
			"a_override.tf": "variable \"a\" {\n default = 1\n}\nvariable \"b\" {\n sensitive = true\n type = number\n}"},
			map[string]Variable{"a": {Sensitive: true, Type: "string", Default: []string{"1"}}, "b": {Sensitive: true, Type: "number"}}},
		{"declared twice", map[string]string{"a.tf": "variable \"a\" {\n sensitive = true\n}\nvariable \"a\" {}"},
			map[string]Variable{"a": {Sensitive: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Scan(write(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Broken) != 0 {
				t.Errorf("broken: %v", m.Broken)
			}
			if diff := cmp.Diff(tt.want, m.Variables); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHasConfig(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"empty", nil, false},
		{"tf", map[string]string{"main.tf": ""}, true},
		{"tf.json", map[string]string{"main.tf.json": ""}, true},
		{"tofu", map[string]string{"main.tofu": ""}, true},
		{"tofu.json", map[string]string{"main.tofu.json": ""}, true},
		{"only below", map[string]string{"sub/main.tf": ""}, false},
		{"directory", map[string]string{"main.tf/": ""}, false},
		{"hidden", map[string]string{".main.tf": "", ".tf": ""}, false},
		{"other", map[string]string{"main.tf.txt": "", "tf": "", "terraform.tfvars": "", "a.tftest.hcl": ""}, false},
	}
	for _, tt := range tests {
		got, err := HasConfig(write(t, tt.files))
		if err != nil || got != tt.want {
			t.Errorf("%s: got %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("none", filepath.Join(dir, "nowhere.tf")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.tf"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := HasConfig(dir); got || err != nil {
		t.Errorf("only a pipe and a link to nowhere: got %v, %v; want false", got, err)
	}
}

func TestNoDirectory(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	_, scanErr := Scan(none)
	_, hasErr := HasConfig(none)
	_, parentsErr := Parents(none)
	_, valuesErr := Values(none)
	for _, err := range []error{scanErr, hasErr, parentsErr, valuesErr} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), none) {
			t.Errorf("got %v, want fs.ErrNotExist with the path", err)
		}
	}
}

func TestOverride(t *testing.T) {
	if got, want := string(Override("kubernetes")), `{"terraform":{"backend":{"kubernetes":{}}}}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !isOverride(OverrideName) {
		t.Errorf("%s is no override file", OverrideName)
	}
}

// FuzzScan looks for a file that makes a parser panic, and checks that a whole file's findings
// do not depend on other files.
func FuzzScan(f *testing.F) {
	f.Add("terraform {\n backend \"s3\" {}\n}\nvariable \"a\" {\n sensitive = true\n type = list(string)\n}", false)
	f.Add("module \"a\" {\n source = \"../../a\"\n}\nlocals {\n x = \"${path.module}/../${var.x}/%{ if a }..%{ endif }\"\n}", false)
	f.Add("x = <<-EOT\n ${[for a in b : \"../${a}\"]}\nEOT\n", false)
	f.Add(`{"terraform":[{"backend":[{"http":{}}],"cloud":null}],"variable":{"a":{"type":"string","sensitive":"${x}"}}}`, true)
	f.Add(`{"module":{"a":{"source":"../../a","x":"${path.module}/.."}}}`, true)
	f.Fuzz(func(t *testing.T, src string, json bool) {
		name := "main.tf"
		if json {
			name += ".json"
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		alone, err := Scan(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := Parents(dir); err != nil || n < 0 || n > parentCount(dir) {
			t.Errorf("parents: %d, %v", n, err)
		}
		if err := os.WriteFile(filepath.Join(dir, OverrideName), Override("http"), 0o600); err != nil {
			t.Fatal(err)
		}
		overridden, err := Scan(dir)
		if err != nil {
			t.Fatal(err)
		}
		if b := overridden.Backend; b == nil || b.Type != "http" || b.File != OverrideName || overridden.Cloud != nil {
			t.Errorf("the override does not hold: %+v", overridden)
		}
		if diff := cmp.Diff(alone.Variables, overridden.Variables); diff != "" {
			t.Errorf("(-alone +overridden):\n%s", diff)
		}
	})
}

// TestUnread has a file that is there, and that a failing disk does not give: what it declares is unknown, not absent.
// The memory of a process stands for one, which cannot be read at its start.
func TestUnread(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/proc/self/mem", filepath.Join(dir, "main.tf")); err != nil {
		t.Fatal(err)
	}
	if m, err := Scan(dir); !errors.Is(err, syscall.EIO) {
		t.Errorf("module = %+v, error = %v, want that of the disk", m, err)
	}
	if levels, err := parentsOf(filepath.Join(dir, "main.tf"), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("levels = %d, error = %v, want that of the disk", levels, err)
	}
}
