package tools

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProbeDriftsAndKeepsALedger(t *testing.T) {
	one := `resource "probe_file" "a" { 
  path    = "%DIR%/a"
  content = "one"
}`
	eachRuntime(t, one, func(t *testing.T, w workdir) {
		w.must(t, "apply", "-auto-approve")
		w.must(t, "plan", "-detailed-exitcode") // exit code 2 if anything is left to do
		w.write(t, "a", "changed by hand")
		if plan := w.must(t, "plan"); !strings.Contains(plan, "1 to change") {
			t.Errorf("after a change by hand the plan says\n%s", plan)
		}
		w.must(t, "apply", "-auto-approve")
		if got := w.read(t, "a"); got != "one" {
			t.Errorf("the repaired file has %q", got)
		}
		if err := os.Remove(filepath.Join(w.dir, "a")); err != nil {
			t.Fatal(err)
		}
		w.must(t, "apply", "-auto-approve")
		w.configure(t, strings.ReplaceAll(one, "%DIR%/a", "%DIR%/b"))
		w.must(t, "apply", "-auto-approve")
		w.must(t, "destroy", "-auto-approve")
		want := []string{"create a", "update a", "create a", "delete a", "create b", "delete b"}
		if diff := cmp.Diff(want, w.ledger(t)); diff != "" {
			t.Errorf("ledger (-want +got):\n%s", diff)
		}
	})
}

func TestProbeWithoutContentIsAnEmptyFile(t *testing.T) {
	eachRuntime(t, `resource "probe_file" "a" { path = "%DIR%/a" }`, func(t *testing.T, w workdir) {
		w.must(t, "apply", "-auto-approve")
		w.must(t, "plan", "-detailed-exitcode")
		if got := w.read(t, "a"); got != "" {
			t.Errorf("the file has %q; want nothing", got)
		}
	})
}

func TestProbeFailsOnDemand(t *testing.T) {
	with := func(fail, extra string) string {
		return `resource "probe_file" "a" {
  path    = "%DIR%/a"
  content = "public"
  secret  = "hidden"
  fail    = "` + fail + `"
  ` + extra + `
}`
	}
	const detail = `content "public" and secret "hidden" were refused`
	cases := []struct {
		fail  string
		apply bool // the resource can be made first
		then  []string
	}{
		{"plan", false, []string{"plan"}},
		{"create", false, []string{"apply", "-auto-approve"}},
		{"read", true, []string{"plan"}},
		{"delete", true, []string{"destroy", "-auto-approve"}},
		{"update", true, []string{"apply", "-auto-approve"}},
	}
	eachRuntime(t, "", func(t *testing.T, w workdir) {
		for _, c := range cases {
			w.configure(t, with(c.fail, ""))
			if c.apply {
				w.must(t, "apply", "-auto-approve")
			}
			if c.fail == "update" {
				w.configure(t, with(c.fail, `stubborn = true`))
			}
			if out := w.refused(t, c.then...); !strings.Contains(out, detail) {
				t.Errorf("fail on %s: the output lacks %q:\n%s", c.fail, detail, out)
			}
			if _, err := os.Stat(filepath.Join(w.dir, "a")); (err == nil) != c.apply {
				t.Errorf("fail on %s: looking for the file gave %v; want it there: %v", c.fail, err, c.apply)
			}
			w.forget(t)
		}
		w.configure(t, with("create", `fail_text = "another text"`))
		if out := w.refused(t, "apply", "-auto-approve"); !strings.Contains(out, "another text") || strings.Contains(out, detail) {
			t.Errorf("fail_text did not replace the detail:\n%s", out)
		}
		w.configure(t, with("never", `delay = "soon"`))
		if out := w.refused(t, "validate"); !strings.Contains(out, "Not a duration") || !strings.Contains(out, "Not a call that can fail") {
			t.Errorf("bad arguments passed validation:\n%s", out)
		}
	})
}

// forget removes the file and the state.
func (w workdir) forget(t *testing.T) {
	t.Helper()
	for _, name := range []string{"a", "terraform.tfstate", "terraform.tfstate.backup"} {
		if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProbeShowsTheEnvironment(t *testing.T) {
	config := `data "probe_env" "e" { values = ["LEAKED", "ABSENT"] }
output "names" { value = data.probe_env.e.names }
output "env" { value = data.probe_env.e.env }`
	eachRuntime(t, config, func(t *testing.T, w workdir) {
		w.must(t, "apply", "-auto-approve")
		var names []string
		w.output(t, "names", &names)
		if !slices.Contains(names, "PROBE_LEDGER") || !slices.IsSorted(names) {
			t.Errorf("names: %q; want them sorted and with PROBE_LEDGER", names)
		}
		var env map[string]string
		w.output(t, "env", &env)
		if diff := cmp.Diff(map[string]string{"LEAKED": "through"}, env); diff != "" {
			t.Errorf("env (-want +got):\n%s", diff)
		}
	})
}

// TestProbeObeysOrIgnoresStop interrupts an apply while one stubborn and one obedient file are being made.
func TestProbeObeysOrIgnoresStop(t *testing.T) {
	config := `resource "probe_file" "stubborn" {
  path     = "%DIR%/stubborn"
  delay    = "4s"
  stubborn = true
}
resource "probe_file" "obedient" {
  path  = "%DIR%/obedient"
  delay = "1m"
}`
	eachRuntime(t, config, func(t *testing.T, w workdir) {
		apply := w.command("apply", "-auto-approve")
		out, err := apply.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := apply.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, out, "probe_file.stubborn: Creating...", "probe_file.obedient: Creating...")
		time.Sleep(time.Second) // the runtime announces a call a moment before it makes it
		if err := apply.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out); err != nil {
			t.Fatal(err)
		}
		if err := apply.Wait(); err == nil {
			t.Error("the interrupted apply worked")
		}
		if diff := cmp.Diff([]string{"probe_file.stubborn"}, w.resources(t)); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"create stubborn"}, w.ledger(t)); diff != "" {
			t.Errorf("ledger (-want +got):\n%s", diff)
		}
	})
}

// TestProbeStopsAtAGate holds an apply at its points, in the order in which it comes to them.
func TestProbeStopsAtAGate(t *testing.T) {
	eachRuntime(t, `resource "probe_file" "a" { path = "%DIR%/a" }`, func(t *testing.T, w workdir) {
		gates := t.TempDir()
		points := []string{"plan-a", "before-create-a", "after-create-a"}
		for _, point := range points {
			overwrite(t, filepath.Join(gates, point))
		}
		apply := w.command("apply", "-auto-approve")
		apply.Env = append(apply.Env, "PROBE_GATES="+gates)
		if err := apply.Start(); err != nil {
			t.Fatal(err)
		}
		for i, point := range points {
			gate := filepath.Join(gates, point)
			awaitFile(t, gate+".reached")
			if _, err := os.Stat(filepath.Join(w.dir, "a")); (err == nil) != (i == 2) {
				t.Errorf("at %s looking for the file gives %v", point, err)
			}
			if err := os.Remove(gate); err != nil {
				t.Fatal(err)
			}
		}
		if err := apply.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func overwrite(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s has not come", path)
}
