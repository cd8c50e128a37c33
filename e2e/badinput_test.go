package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

func TestBadModuleAndConfig(t *testing.T) {
	const gone, notDir = "no such file or directory", "not a directory"
	loop := func(t *testing.T, f *fixture) {
		if err := os.Symlink("loop.tf", filepath.Join(f.config, "loop.tf")); err != nil {
			t.Fatal(err)
		}
	}
	testBad(t,
		badLayout("module missing", more("--module", "DIR/nowhere"), "/nowhere", gone, "--module"),
		badLayout("module empty", more("--module", "DIR/files"), "/files", "holds no .tf", "--module"),
		badLayout("module is a file", more("--module", "DIR/config/main.tf"), "/config/main.tf", notDir, "--module"),
		badConfig("config missing", more("--config", "DIR/nowhere"), "/nowhere", gone, "--config"),
		badConfig("config below a file", more("--config", "DIR/config/main.tf/x"), "/main.tf/x", notDir, "--config"),
		// With only the declaration of a backend in the root, a runtime would plan to destroy everything.
		badConfig("config without a root module", more("--config", "DIR/files"), "/files", "holds no .tf", "--config").
			with(file("files/terraform.tfvars.json", "{}")),
		badConfig("config with a file that nobody can read", nil, "/config/loop.tf", "too many levels of symbolic links", "--config").
			with(loop),
		badConfig("local module with a file that nobody can read", only("--local", "--config", "/captf/config"), "/config/loop.tf", "too many levels of symbolic links", "--module").
			with(loop),
		badUsage("variables are a folder", nil, "--var-file", "/files", "is a directory").with(func(t *testing.T, f *fixture) {
			f.env = append(f.env, "CAPTF_VAR_FILE="+f.files+"/x.json")
			if err := os.Mkdir(f.files+"/x.json", 0o700); err != nil {
				t.Fatal(err)
			}
		}),
		badUsage("variables file missing", more("--var-file", "DIR/nowhere.tfvars"), "--var-file", "/nowhere.tfvars", gone),
		badLayout("providers is a file", more("--providers", "DIR/config/main.tf"), "providers", "/config/main.tf", "no directory", "--providers"),
		badUsage("providers missing", more("--providers", "DIR/nowhere"), "--providers", "/nowhere", gone, "leave the flag out"),
		badUsage("debug log in a missing folder", more("--debug-log", "DIR/nowhere/log"), "--debug-log", "/nowhere/log", gone),
		badUsage("providers is no mirror", more("--providers", "DIR/files"), "--providers", "/files", "no filesystem mirror"),
		badConfig("workdir below a file", more("--workdir", "DIR/config/main.tf/work"), "/config/main.tf", notDir, "--workdir"),
		badConfig("workdir is a file", more("--workdir", "DIR/config/main.tf"), "/config/main.tf", notDir, "--workdir"),
		badConfig("workdir where nothing can be made", more("--workdir", "/proc/captf"), "/proc/captf", gone, "--workdir"),
	)
}

func TestBadBackend(t *testing.T) {
	const s3 = "terraform {\n  backend \"s3\" {}\n}\n"
	testBad(t,
		badUsage("setting without a value", more("--backend-config", "hunter2-without-a-key"), "--backend-config", "key=value"),
		badUsage("setting without a key", more("--backend-config", "=hunter2"), "--backend-config", "key=value"),
		badUsage("setting given twice", more("--backend-config", "password=hunter2", "--backend-config", "password=hunter22"),
			"--backend-config", "password is given twice"),
		badUsage("credential that could only go by argv", only("--backend", "oci", "--backend-config", "private_key=hunter2"),
			"--backend-config", "private_key", `backend "oci"`, "argv"),
		badUsage("setting of another backend", only("--backend", "http", "--backend-config", "secret_suffix=x"),
			"--backend http", "secret_suffix", `"kubernetes"`),
		badUsage("switch neither on nor off", only("--backend-config", "secret_suffix=x", "--backend-config", "in_cluster_config=perhaps"),
			"--backend-config", "in_cluster_config=perhaps", "true nor false"),
		badUsage("kubeconfig missing", only("--backend-config", "secret_suffix=x", "--backend-config", "config_path=DIR/nowhere"),
			"config_path", "/nowhere", "no such file", "localhost"),
		badUsage("another backend declared", nil, "backend.tf", `"s3"`, `"http"`, "remove the block or change the settings").
			with(file("config/backend.tf", s3)),
		badUsage("cloud block", nil, "cloud.tf", "cloud block", "remove it").
			with(file("config/cloud.tf", "terraform {\n  cloud {}\n}\n")),
		badUsage("no backend at all", only(), "no backend", "--backend-config", "--local"),
		badUsage("state in the working directory", only("--backend", "local", "--backend-config", "path=here.tfstate"),
			`backend "local"`, "absolute path", "--workdir"),
		badUsage("state in the working directory, by an absolute path",
			only("--backend", "local", "--backend-config", "path=DIR/work/root/here.tfstate"), `backend "local"`, "--workdir"),
		badUsage("state in the working directory declared", only(), `backend "local"`, "--workdir").
			with(file("config/backend.tf", "terraform {\n  backend \"local\" {\n    path = \"here.tfstate\"\n  }\n}\n")),
		badUsage("state nowhere", only(), `backend "inmem"`, "--local").
			with(file("config/backend.tf", "terraform {\n  backend \"inmem\" {}\n}\n")),
		badUsage("local and another backend declared", only("--local"), "backend.tf", `"s3"`).
			with(file("config/backend.tf", s3)),
		badUsage("local and an http backend declared", only("--local"), "backend.tf", `"http"`, "empty state").
			with(file("config/backend.tf", "terraform {\n  backend \"http\" {}\n}\n")),
	)
}

func TestBadPlanKey(t *testing.T) {
	short := badUsage("too short", more("--plan-key-file", "DIR/key"), "--plan-key-file", "31 bytes", "at least 32").
		with(file("key", strings.Repeat("k", 31)))
	short.op = "plan"
	testBad(t, short,
		badUsage("missing", more("--plan-key-file", "DIR/key", "--expect-plan", "p2:00"), "--plan-key-file", "/key", "no such file"),
		badUsage("no hash of a plan", more("--expect-plan", "sha256:00"), "--expect-plan sha256:00", "--op plan"),
		badUsage("a folder", more("--plan-key-file", "DIR/config", "--expect-plan", "p2:00"), "--plan-key-file", "/config", "is a directory"),
	)
}

// A result that cannot be written is found before anything runs, or is even made.
func TestBadResultFile(t *testing.T) {
	for name, path := range map[string]string{
		"in a missing folder": "DIR/nowhere/result.json",
		"a folder":            "DIR/config",
		"below a file":        "DIR/config/main.tf/result.json",
		"for the kernel only": "/proc/captf",
		"a pipe nobody reads": "DIR/pipe",
		"on a full disk":      "DIR/disk/result.json",
	} {
		t.Run(name, func(t *testing.T) {
			f := newBadFixture(t)
			if err := syscall.Mkfifo(filepath.Join(f.dir, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			smallDisk(t, filepath.Join(f.dir, "disk")).fill(t)
			flags := more("--result", path)(f)
			o := f.run(t, "apply", flags...)
			want := result.ExitUsage
			if name == "on a full disk" {
				want = result.ExitFailed // the command line is right
			}
			if o.code != want || o.result != nil {
				t.Errorf("exit %d, want %d\n%s", o.code, want, o)
			}
			checkText(t, lastLine(o.stderr), []string{"result file " + flags[len(flags)-1], "--result"})
			if calls := f.started(t); calls != "" {
				t.Errorf("the runtime was started:\n%s", calls)
			}
			if _, err := os.Stat(filepath.Join(f.dir, "work")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the workdir was made: %v", err)
			}
		})
	}
}

// A file of more than 1 MiB is not read: a backend may be declared in it, or nowhere. What init made of it
// decides, before anything is changed.
func TestRootTooLargeToRead(t *testing.T) {
	big := "# " + strings.Repeat("x", 1<<20) + "\n"
	const http = "terraform {\n  backend \"http\" {}\n}\n"
	for name, c := range map[string]struct {
		inBig, beside string
		code          int
	}{
		"no backend":        {"", "", result.ExitUsage},
		"backend in it":     {http, "", result.ExitDone},
		"backend beside it": {"", http, result.ExitDone},
	} {
		t.Run(name, func(t *testing.T) {
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, newHTTP)
				f.write(t, "big.tf", big+c.inBig)
				f.write(t, "backend.tf", c.beside)
				o := f.must(t, c.code, "apply")
				if _, err := os.Stat(filepath.Join(f.files, "first")); (err == nil) != (c.code == result.ExitDone) {
					t.Errorf("resources made: %v\n%s", err == nil, o)
				}
				if c.code == result.ExitUsage {
					checkText(t, lastLine(o.stderr), []string{"big.tf", "1 MiB", "declare the backend in a file of its own"})
				}
			})
		})
	}
}
