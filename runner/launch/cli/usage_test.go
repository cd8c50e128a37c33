package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUsage(t *testing.T) {
	term := setUp(t)
	empty, files := t.TempDir(), t.TempDir()
	broken := func(name string) string {
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, []byte("size ="), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	odd := t.TempDir()
	for _, name := range []string{"main.tf", "we ird.txt"} {
		if err := os.WriteFile(filepath.Join(odd, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, args := range map[string][]string{
		"want one object":                                  {"apply"},
		"--image is missing":                               {"apply", "tc/prod"},
		`"prod" is not KIND/NAME`:                          {"apply", "prod", "--image", "i"},
		`kind "pod" is unknown`:                            {"apply", "pod/prod", "--image", "i"},
		"is not a DNS subdomain":                           {"apply", "tc/Prod", "--image", "i"},
		`--approve "p2:abc"`:                               term.args("apply", "--approve", "p2:abc"),
		`--approve "` + strings.Repeat("a1", 32):           term.args("apply", "--approve", strings.Repeat("a1", 32)),
		`--image "ops/Module:x" is no image reference`:     {"apply", "tc/prod", "--image", "ops/Module:x"},
		"-f and --module exclude":                          term.args("apply", "--module", "/m"),
		"--output-name is for --module":                    term.args("apply", "--output-name", "x"),
		"--backup is missing":                              term.args("restore"),
		`-o "table"`:                                       term.args("apply", "-o", "table"),
		`--image-pull-policy "Sometimes"`:                  term.args("apply", "--image-pull-policy", "Sometimes"),
		`--memory "much"`:                                  term.args("apply", "--memory", "much"),
		"--lock-timeout 5m0s is not below --deadline 1m0s": term.args("apply", "--deadline", "1m"),
		"--deadline 0s, --grace 10m0s: want":               term.args("apply", "--deadline", "0"),
		"--deadline 1h0m0s, --grace 0s: want":              term.args("apply", "--grace", "0"),
		`--module "captf/module": want a path`:             {"apply", "tc/prod", "--image", "i", "--module", "captf/module"},
		`"tc/prod" is no name of a Job`:                    {"attach", "tc/prod"},
		`-o "yaml": want json`:                             {"attach", "job", "-o", "yaml"},
		"it has no .tf":                                    {"apply", "tc/prod", "--image", "i", "-f", empty},
		"no such file":                                     {"apply", "tc/prod", "--image", "i", "-f", filepath.Join(empty, "x")},
		"--var-file":                                       term.args("apply", "--var-file", filepath.Join(empty, "x")),
		broken("a.tfvars") + ":1":                          {"apply", "tc/prod", "--image", "i", "--var-file", broken("a.tfvars")},
		broken("b.json") + " is not":                       {"apply", "tc/prod", "--image", "i", "--var-file", broken("b.json")},
		"want the name of one Job":                         {"attach"},
		`unknown operation "frob"`:                         {"frob", "tc/prod"},
		`--image "Bad Image!!"`:                            {"apply", "tc/prod", "--image", "Bad Image!!", "-f", term.dir},
		`cannot hold the file "we ird.txt"`:                {"apply", "tc/prod", "--image", "i", "-f", odd},
		broken("c.tfvars") + ":1":                          {"apply", "tc/prod", "--image", "i", "-f", term.dir, "--var-file", broken("c.tfvars")},
	} {
		term.clear()
		if code := term.run(args...); code != 2 || !strings.Contains(term.err.String(), want) {
			t.Errorf("captf launch %v: exit code %d, want 2 and %q:\n%s", args, code, want, term.err)
		}
	}
	if len(term.jobs()) > 0 {
		t.Error("a Job was started")
	}
}

// A root that only calls the module has a variable for each that the files set, whichever language they are in.
func TestCallingRoot(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	o := options{outputs: []string{"url"}, varFiles: []string{write("a.tfvars", "size = 3\n"), write("b.json", `{"name":"x"}`)}}
	files, varFiles, err := o.files()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"var-0.tfvars", "var-1.tfvars.json"}, varFiles); diff != "" {
		t.Errorf("variable files (-want +got)\n%s", diff)
	}
	var got, want any
	if err := json.Unmarshal(files["main.tf.json"], &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{
		"terraform": {"backend": {"kubernetes": {}}},
		"variable": {"size": {}, "name": {}},
		"module": {"this": {"source": "/captf/module", "size": "${var.size}", "name": "${var.name}"}},
		"output": {"url": {"value": "${module.this.url}"}}
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("root (-want +got)\n%s", diff)
	}
}

// What is not a file of the root does not become one.
func TestAddRoot(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.tf": "a", ".terraform.lock.hcl": "b", ".env": "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("main.tf", filepath.Join(dir, "linked.tf")); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	if err := addRoot(files, dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"main.tf": []byte("a"), "linked.tf": []byte("a")}, files); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestImageName(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for _, good := range []string{"a", "a:1", "a/b_c/d--e:V1", "localhost/a:dev", "Registry.example:5000/a/b" + digest, "[::1]:5000/a", "a:1" + digest, "docker.io/a"} {
		if !imageName.MatchString(good) {
			t.Errorf("%s is refused", good)
		}
	}
	for _, bad := range []string{"", "UPPER:x", "a/UPPER", "a//b", "a:", "a:1:2", "a@sha256:12", "-a", "a b", "https://a/b", "a/b/", "a@b"} {
		if imageName.MatchString(bad) {
			t.Errorf("%s is taken", bad)
		}
	}
}

// A limit that is too low is none of the command line's faults.
func TestUnread(t *testing.T) {
	for err, want := range map[error]bool{&os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}: false, os.ErrNotExist: true} {
		var exit Exit
		if got := errors.As(unread("-f", err), &exit); got != want {
			t.Errorf("%v: a usage error is %v, want %v", err, got, want)
		}
	}
}
