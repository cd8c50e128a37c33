package runner

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// TestLeftLockText has the last line name the lock that a run leaves, as long as nobody else has it or released it.
func TestLeftLockText(t *testing.T) {
	for name, tt := range map[string]struct {
		lock  result.Lock
		local bool
		want  string
	}{
		"left":                 {result.Lock{ID: "id-1"}, false, "--force-unlock id-1"},
		"released":             {result.Lock{ID: "id-1", Released: true}, false, ""},
		"taken over":           {result.Lock{ID: "id-2"}, false, ""},
		"the next run does it": {result.Lock{ID: "id-1"}, true, ""},
	} {
		r := &run{opts: Options{Local: tt.local}, child: child{lock: "id-1"}, report: report{Result: &result.Result{Lock: &tt.lock}}}
		if got := r.leftLockText(); !strings.HasSuffix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q at its end", name, got, tt.want)
		}
	}
}

// TestLastLineQuotes has a way out that speaks of a message: the line has it, without a secret, colours, or all of its
// length.
func TestLastLineQuotes(t *testing.T) {
	secrets := redact.New()
	secrets.Add("hunter2hunter2")
	r := &run{redact: secrets, stop: runtime.NewStop(0)}
	text := "Error: secrets \"x\" is forbidden: User \"u\" cannot get resource \"secrets\" \x1b[31mhunter2hunter2 " + strings.Repeat("long ", 200)
	f := r.stepFailure(stepInit, runtime.Exit{Code: 1}, runtime.TextOutput(text))
	got := f.Error()
	if f.reason != result.ReasonRBAC || !strings.Contains(got, `the message names: secrets "x" is forbidden: User "u" cannot get`) ||
		strings.Contains(got, "hunter2") || strings.Contains(got, "\x1b") || len(got) > 600 {
		t.Errorf("%s: %q", f.reason, got)
	}
}

// TestHomeInKubeconfig has the same file named to the runner and to its children, which have another home.
func TestHomeInKubeconfig(t *testing.T) {
	for given, want := range map[string]string{
		"config_path=~/.kube/config":       "config_path=/home/ann/.kube/config",
		"config_path=~bob/config":          "config_path=~bob/config",
		"config_path=/a/~":                 "config_path=/a/~",
		`config_paths=["~/.kube/a","/b"]`:  `config_paths=["/home/ann/.kube/a","/b"]`,
		"config_paths=no list of any text": "config_paths=no list of any text",
	} {
		b, err := readBackend([]string{given})
		b.expandHome([]string{"HOME=/home/ann"})
		if err = errors.Join(err, b.become("kubernetes", "")); err != nil || len(b.args) != 1 || b.args[0] != want {
			t.Errorf("%s: %q, %v; want %s", given, b.args, err, want)
		}
	}
}

// TestUnnotedLockIsAFault has a disk on which nobody can write down who asks for the lock, and a client that is too odd for
// that: only the first is a fault.
func TestUnnotedLockIsAFault(t *testing.T) {
	for name, row := range map[string]struct {
		body   string
		status int
		fault  error
	}{
		"nowhere to write": {`{"ID":"id-1"}`, http.StatusServiceUnavailable, os.ErrNotExist},
		"too long a body":  {strings.Repeat("x", maxLockBody+1), http.StatusBadRequest, nil},
		"no lock info":     {"x", http.StatusNotFound, nil}, // by the server behind it
	} {
		l := &local{dir: "/d"}
		server := httptest.NewServer(noteLocks(http.NotFoundHandler(), filepath.Join(t.TempDir(), "gone", "note"), "s", l.noteFault))
		defer server.Close()
		request, err := http.NewRequestWithContext(t.Context(), "LOCK", server.URL, strings.NewReader(row.body))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(localUser, "s")
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != row.status || !errors.Is(l.diskFault(), row.fault) {
			t.Errorf("%s: %s, fault %v", name, answer.Status, l.diskFault())
		}
	}
}

// TestSettledListsGo removes the lists of earlier local runs, and nothing else, once nothing of them is unsaved.
func TestSettledListsGo(t *testing.T) {
	for name, keep := range map[string]bool{"settled": false, "still unsaved": true} {
		r := &run{local: &local{dir: t.TempDir()}, rt: &runtime.Runtime{}, log: slog.New(slog.DiscardHandler), report: report{Result: &result.Result{}}}
		listed, other := filepath.Join(r.local.dir, resultsDir, "m-changes-1.json"), filepath.Join(t.TempDir(), "m-changes-2.json")
		err := os.Mkdir(filepath.Dir(listed), 0o700)
		for _, path := range []string{listed, other} {
			err = errors.Join(err, os.WriteFile(path, []byte("{}"), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.legacy.lists = []string{listed, other}; keep {
			r.report.earlier = &result.Unsaved{Count: 1}
		}
		if r.dropLists(); exists(listed) != keep || !exists(other) {
			t.Errorf("%s: the list is there: %v, that of another place: %v", name, exists(listed), exists(other))
		}
	}
}
