package root

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParents(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  int
	}{
		{"nothing", nil, 0},
		{"inside", map[string]string{"main.tf": `module "a" { source = "./modules/a" }`}, 0},
		{"module source", map[string]string{"main.tf": `module "a" { source = "../../modules/a" }`}, 2},
		{"parent itself", map[string]string{"main.tf": `module "a" { source = ".." }`}, 1},
		{"highest counts", map[string]string{"a.tf": `module "a" { source = "../a" }`, "b.tf": `module "b" { source = "../../../b" }`}, 3},
		{"down and up", map[string]string{"main.tf": `module "a" { source = "./x/../../a" }`}, 1},
		{"up and down and up", map[string]string{"main.tf": `locals { x = file("../a/../../b") }`}, 2},
		{"path.module", map[string]string{"main.tf": `locals { x = file("${path.module}/../files/x") }`}, 1},
		{"module without a source", map[string]string{"main.tf": `module "a" { x = "../x" }`}, 1},
		{"number where a path begins", map[string]string{"main.tf": `locals { x = "${1}/../../x" }`}, 2},
		{"null where a path begins", map[string]string{"main.tf": `locals { x = "${null}/../x" }`}, 1},
		{"path alone", map[string]string{"main.tf": `locals { x = "${path}/../x" }`}, 1},
		{"path.root", map[string]string{"main.tf": `locals { x = file("${path.root}/../../x") }`}, 2},
		{"unknown directory", map[string]string{"main.tf": `locals { x = "${var.dir}/../x" }`}, 1},
		{"unknown directory in a command", map[string]string{"main.tf": `locals { x = "cp ${var.dir}/../x ." }`}, 1},
		{"up and half back", map[string]string{"main.tf": `locals { x = file("../../a/b/../c") }`}, 2},
		{"unknown name within", map[string]string{"main.tf": `locals { x = "a-${var.n}/${var.m}/../../x" }`}, 0},
		{"nested template", map[string]string{"main.tf": `locals { x = "${file("../x")}" }`}, 1},
		{"heredoc", map[string]string{"main.tf": "locals {\n  x = <<-EOT\n    cd ../../tools && make\n  EOT\n}\n"}, 2},
		{"in a command", map[string]string{"main.tf": `locals { x = "tar -C=../x 'a/../b'" }`}, 1},
		{"resource with a source", map[string]string{"sub/main.tf": "resource \"x\" \"y\" {\n source = \"../x\"\n}"}, 1},

		{"below: source is relative to its file", map[string]string{"modules/a/main.tf": `module "b" { source = "../b" }`}, 0},
		{"below: source leads out", map[string]string{"modules/a/main.tf": `module "b" { source = "../../../b" }`}, 1},
		{"below: path.module", map[string]string{"modules/a/main.tf": `locals { x = "${path.module}/../../../x" }`}, 1},
		{"below: path.root", map[string]string{"modules/a/main.tf": `locals { x = "${path.root}/../../../x" }`}, 3},
		{"below: another module", map[string]string{"modules/a/main.tf": `locals { x = "${local.module}/../../../x" }`}, 3},
		{"below: other paths are relative to the root", map[string]string{"modules/a/main.tf": `locals { x = file("../x") }`}, 1},

		{"json", map[string]string{"main.tf.json": `{"module":{"a":{"source":"..\/..\/a"}}}`}, 2},
		{"json below", map[string]string{"m/main.tf.json": `{"module":[{"a":[{"source":"../a","x":"${path.module}/../y"}]}]}`}, 0},
		{"json below, not a source", map[string]string{"m/main.tf.json": `{"module":{"a":{"source":"../a","files":["../x"]}}}`}, 1},
		{"json below, another source", map[string]string{"m/main.tf.json": `{"locals":{"x":{"source":"../a"}}}`}, 1},
		{"json below, path.module", map[string]string{"m/main.tf.json": `{"locals":{"x":"${path.module}/../../x"}}`}, 1},
		{"json below, deeper than a source", map[string]string{"m/main.tf.json": `{"module":{"a":{"source":{"x":"../a"}}}}`}, 1},
		{"json, module of the wrong shape", map[string]string{"main.tf.json": `{"module":"../x"}`}, 1},
		{"json, no template", map[string]string{"main.tf.json": `{"locals":{"x":"%{ if ../x"}}`}, 1},
		{"tofu", map[string]string{"main.tofu": `module "a" { source = "../a" }`}, 1},

		{"comment", map[string]string{"main.tf": "# ../../x\n"}, 0},
		{"absolute", map[string]string{"main.tf": `locals { x = "/a/../../b" }`}, 0},
		{"address", map[string]string{"main.tf": `locals { x = "https://example.test/a/../b" }`}, 0},
		{"dots in a name", map[string]string{"main.tf": `locals { x = "a../b ...//c" }`}, 0},
		{"other files", map[string]string{"x.txt": "../../x", "terraform.tfvars": `x = "../x"`}, 0},
		{"skipped directories", map[string]string{
			".terraform/modules/a/main.tf": `module "a" { source = "../../../../a" }`,
			".git/main.tf":                 `module "a" { source = "../../a" }`,
			"sub/.captf/main.tf":           `module "a" { source = "../../../a" }`,
		}, 0},
		{"file called like a skipped directory", map[string]string{".git": "gitdir: x", "main.tf": `module "a" { source = "../a" }`}, 1},
		{"broken file", map[string]string{"main.tf": "module \"a\" {\n source = \"../a\"\n}\nx = = 1\n"}, 1},
		{"file that cannot be read", map[string]string{"main.tf": "x = " + strings.Repeat("[", 20_000) + `"../x"` + strings.Repeat("]", 20_000)}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parents(write(t, tt.files))
			if err != nil || got != tt.want {
				t.Errorf("got %d, %v; want %d", got, err, tt.want)
			}
		})
	}
}

func TestParentsStopAtTheTop(t *testing.T) {
	dir := write(t, map[string]string{"main.tf": `module "a" { source = "` + strings.Repeat("../", 50) + `a" }`})
	want := strings.Count(dir, "/")
	if got, err := Parents(dir); err != nil || got != want {
		t.Errorf("got %d, %v; want the %d parents of %s", got, err, want, dir)
	}
}

func TestParentsOfASkippedName(t *testing.T) {
	dir := write(t, map[string]string{".captf/main.tf": `module "a" { source = "../a" }`})
	if got, err := Parents(filepath.Join(dir, ".captf")); err != nil || got != 1 {
		t.Errorf("got %d, %v; want 1", got, err)
	}
}

func TestParentsFollowsNoLink(t *testing.T) {
	outside := write(t, map[string]string{"main.tf": `module "a" { source = "../a" }`})
	dir := t.TempDir()
	for link, target := range map[string]string{"sub": outside, "main.tf": filepath.Join(outside, "main.tf"), "loop": "."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Parents(dir); err != nil || got != 0 {
		t.Errorf("got %d, %v; want 0", got, err)
	}
}
