package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stub puts a shell script in place of the runtime. In it, $REAL is the runtime that it replaces: most
// stubs play one command and leave the others to the real one.
func (f *fixture) stub(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runtime")
	text := "#!/bin/sh\nREAL='" + f.runtime.Path + "'\n" + script
	// A process that another test forks while the file is open for writing would keep it "busy".
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	f.runtime.Path = path
}

// recorder is a stub that writes down how it is called and then is the real runtime.
type recorder struct{ dir string }

func (f *fixture) record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{dir: t.TempDir()}
	f.stub(t, `calls='`+r.dir+`'
cat /proc/$$/environ >"$calls/$$.env"
printf '%s\0' "$@" >"$calls/$$.argv"
exec "$REAL" "$@"
`)
	return r
}

// value is that of an argument -name=value.
func (c call) value(name string) string {
	for _, arg := range c.args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
	}
	return ""
}

// call is one process of the runtime, as it was started.
type call struct {
	args []string
	env  map[string]string
	at   time.Time
}

// step is what the process was to do, such as "init".
func (c call) step() string { return c.args[0] }

// calls are those since the last time, the oldest first.
func (r *recorder) calls(t *testing.T) []call {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "*.argv"))
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		c := call{args: fields(t, file), env: map[string]string{}, at: info.ModTime()}
		environ := strings.TrimSuffix(file, ".argv") + ".env"
		for _, pair := range fields(t, environ) {
			name, value, _ := strings.Cut(pair, "=")
			c.env[name] = value
		}
		calls = append(calls, c)
		remove(t, file)
		remove(t, environ)
	}
	slices.SortFunc(calls, func(a, b call) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.step(), b.step())) })
	return calls
}

// fields reads a file of strings that each end in a zero byte.
func fields(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// steps are the commands of the calls in order, without `version`, which only informs the result.
func steps(calls []call) string {
	var names []string
	for _, c := range calls {
		if c.step() != "version" {
			names = append(names, c.step())
		}
	}
	return strings.Join(names, " ")
}

// find is the one call of a step.
func find(t *testing.T, calls []call, step string) call {
	t.Helper()
	i := slices.IndexFunc(calls, func(c call) bool { return c.step() == step })
	if i < 0 {
		t.Fatalf("%s was not called; calls: %s", step, steps(calls))
	}
	return calls[i]
}

// canForceUnlock is false for Terraform on a state server: its force-unlock sends no ID, and the server refuses
// what could be anybody's lock.
func (f *fixture) canForceUnlock() bool {
	_, isServed := f.backend.(*served)
	return !isServed || f.local() || f.runtime.Name == "tofu"
}

func (f *fixture) local() bool {
	s, ok := f.backend.(*served)
	return ok && len(s.args) > 0
}

// unlockSteps leaves out the force-unlock where the runner has the server release the lock, without a process.
func (f *fixture) unlockSteps(names ...string) string {
	if _, ok := f.backend.(asked); ok || f.local() {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "force-unlock" })
	}
	return strings.Join(names, " ")
}
