package runner

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

func TestParseEventObject(t *testing.T) {
	got, err := parseEventObject("infrastructure.cluster.x-k8s.io/v1beta1/TerraformCluster/ns/prod/uid-1")
	want := kube.ObjectReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "TerraformCluster", Namespace: "ns", Name: "prod", UID: "uid-1"}
	if err != nil || got != want {
		t.Errorf("object = %+v, %v; want %+v", got, err, want)
	}
	if got, err := parseEventObject("v1/Pod/ns/p/u"); err != nil || got.APIVersion != "v1" || got.Kind != "Pod" {
		t.Errorf("object = %+v, %v; want one of the core group", got, err)
	}
	for _, wrong := range []string{"", "v1/Pod/ns/p", "a/b/c/d/e/f/g", "v1/Pod//p/u"} {
		if _, err := parseEventObject(wrong); !errors.Is(err, errUsage) {
			t.Errorf("%q: err = %v, want a usage error", wrong, err)
		}
	}
}

func TestUnsaved(t *testing.T) {
	changes := []runtime.Started{
		{Address: "a", Action: "create", ID: "i-a", Ended: true},
		{Address: "b", Action: "create", Ended: true, Failed: true},
		{Address: "c", Action: "update", ID: "i-c"},
		{Address: "d", Action: "create"},
	}
	answer := []runtime.Diagnostic{{Summary: "no capacity", Address: "b"}}
	tests := []struct {
		name   string
		exit   runtime.Exit
		errors []runtime.Diagnostic
		want   string
	}{
		{"killed: what is done is not saved either", runtime.Exit{Signal: 9}, answer, "d c b a"},
		{"pressed to end: the same", runtime.Exit{Code: 1, Asked: true, Pressed: true}, answer, "d c b a"},
		{"killed with its group, and ended by itself: the same", runtime.Exit{Code: 1, Asked: true, Killed: true}, answer, "d c b a"},
		{"ended by itself: only what was in flight", runtime.Exit{Code: 1}, answer, "d c"},
		{"ended by itself, a provider died", runtime.Exit{Code: 1}, []runtime.Diagnostic{{Summary: "Plugin did not respond"}}, "d c b"},
		{"ended without a word: what is done is not saved either", runtime.Exit{Code: 1}, nil, "d c b a"},
		{"ended without a word, as if nothing had failed", runtime.Exit{}, nil, "d c b a"},
	}
	for _, tt := range tests {
		got := unsaved(tt.exit, &runtime.Output{Changes: changes, Errors: tt.errors, Concluded: tt.errors != nil})
		var addresses []string
		for _, r := range got.Resources {
			addresses = append(addresses, r.Address)
		}
		if strings.Join(addresses, " ") != tt.want || got.Count != len(addresses) {
			t.Errorf("%s: %d of %q, want %s", tt.name, got.Count, addresses, tt.want)
		}
	}
	if got := unsaved(runtime.Exit{}, &runtime.Output{Changes: changes[:2], Errors: answer, Concluded: true}); got != nil {
		t.Errorf("unsaved = %+v after a step in which everything ended, want none", got)
	}
	if got, want := listUnsaved(changes[2:3], 1).Resources[0], (result.UnsavedResource{Address: "c", Action: "update", ID: "i-c"}); got != want {
		t.Errorf("resource = %+v, want %+v", got, want)
	}
	many := make([]runtime.Started, 1000)
	if got := listUnsaved(many, maxJournal); got.Count != 1000 || len(got.Resources) != maxJournal {
		t.Errorf("%d of %d are named, want %d of 1000", len(got.Resources), got.Count, maxJournal)
	}
}

func TestUnsavedText(t *testing.T) {
	u := &result.Unsaved{Count: 5, Resources: []result.UnsavedResource{
		{Address: "a", Action: "create", ID: "i-a"}, {Address: "b", Action: "update"}, {Address: "c", Action: "delete"}, {Address: "d", Action: "create"},
	}}
	want := `; no saved state may know of 5: create a (ID i-a), update b, delete c, and 2 more, see "unsaved" in the result; ` +
		`look for what was made, and import or delete it before the next run`
	if diff := cmp.Diff(want, unsavedText(u)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	only := func(action string) *result.Unsaved {
		return &result.Unsaved{Count: 1, Resources: []result.UnsavedResource{{Address: "a", Action: action}}}
	}
	for action, want := range map[string]string{"delete": "the next run finds out", "update": "the next run finds out", "create": "import"} {
		if got := unsavedText(only(action)); !strings.Contains(got, want) {
			t.Errorf("of a %s it says %q, not %q", action, got, want)
		}
		if got := unsavedText(only(action)); strings.Contains(got, "more") {
			t.Errorf("of one %s it says %q", action, got)
		}
	}
	unnamed := only("delete")
	unnamed.Count++ // which may have been created
	if got := unsavedText(unnamed); !strings.Contains(got, "and 1 more") || !strings.Contains(got, "import") {
		t.Errorf("of one that has no name it says %q", got)
	}
	if got := unsavedText(nil); got != "" {
		t.Errorf("of nothing it says %q", got)
	}
}

func TestProgress(t *testing.T) {
	event := func(kind, address string) runtime.Event {
		return runtime.Event{Type: kind, Hook: &runtime.Hook{Resource: runtime.Resource{Addr: address}}}
	}
	p := &progress{}
	sofar := &runtime.Output{Planned: make([]runtime.Change, 3)}
	p.see(runtime.Event{Type: "planned_change"}, sofar)
	if got := p.text(time.Now()); got != "" {
		t.Errorf("progress before anything runs = %q", got)
	}
	p.see(event("apply_start", "a"), sofar)
	p.see(event("apply_start", "b"), sofar)
	p.see(event("apply_complete", "a"), sofar)
	p.see(event("apply_start", "c"), sofar)
	if diff := cmp.Diff("1 of 3 done, 2 running (b 1m20s)", p.text(time.Now().Add(80*time.Second))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConsole(t *testing.T) {
	secrets := redact.New()
	secrets.Add("s3cr3t")
	var out bytes.Buffer
	c := &console{out: &out, redact: secrets, terminal: true}
	c.Live("1 of 2 s3cr3t")
	c.Print("line s3cr3t")
	c.Live("2 of 2")
	c.Live("")
	if want := "1 of 2 (sensitive)\r\x1b[Kline (sensitive)\n2 of 2\r\x1b[K"; out.String() != want {
		t.Errorf("terminal got %q, want %q", out.String(), want)
	}
	out.Reset()
	c = &console{out: &out, redact: secrets}
	c.Live("never in a log")
	c.Print("line")
	if out.String() != "line\n" {
		t.Errorf("log got %q", out.String())
	}
}

// What a terminal obeys is taken out of what is printed: a secret may be hidden by it, or be a part of it.
func TestConsoleOfControlCharacters(t *testing.T) {
	for secret, line := range map[string]string{
		"hunter2-hunter2": "a hunter2-\x07hunter2 b",
		"[31mhunter2":     "a \x1b[31mhunter2 b",
	} {
		secrets := redact.New()
		secrets.Add(secret)
		var out bytes.Buffer
		(&console{out: &out, redact: secrets}).Print(line)
		if got := out.String(); strings.Contains(got, "hunter2") || !strings.HasSuffix(got, " b\n") {
			t.Errorf("the line %q with the secret %q is printed as %q", line, secret, got)
		}
	}
}

func TestManagedResources(t *testing.T) {
	list := "a.b\ndata.x.y\nmodule.m.data.x.y\nmodule.data.a.b\nmodule.m[\"data.z\"].module.n[0].a.b[\"data.z\"]\n\n"
	if got := managedResources(list); got != 3 {
		t.Errorf("managed = %d, want 3", got)
	}
	if got := managedResources(strings.Repeat("\n", 3)); got != 0 {
		t.Errorf("managed of nothing = %d", got)
	}
}

func TestCausedByStop(t *testing.T) {
	errors := func(all ...runtime.Diagnostic) *runtime.Output { return &runtime.Output{Errors: all} }
	halted := runtime.Diagnostic{Summary: "execution halted"}
	tests := []struct {
		name string
		out  *runtime.Output
		want bool
	}{
		{"nothing is said", errors(), true},
		{"halted", errors(halted, halted), true},
		{"a provider that obeys", errors(runtime.Diagnostic{Summary: "creating x", Detail: "context canceled", Address: "a"}), true},
		{"a provider that obeys gRPC", errors(runtime.Diagnostic{Summary: "rpc error: code = Canceled desc = x", Address: "a"}), true},
		{"a provisioner that is killed", errors(halted, runtime.Diagnostic{Summary: "local-exec provisioner error", Detail: "Error running command 'sleep': signal: killed. Output: start", Address: "a"}), true},
		{"an instance that is stopped", errors(runtime.Diagnostic{Summary: "instance i-1 is stopped", Detail: "shutting down", Address: "a"}), false},
		{"an operation that the provider cancelled", errors(runtime.Diagnostic{Summary: "deploying x", Detail: "the operation was canceled by an administrator", Address: "a"}), false},
		{"a request that the provider cancelled", errors(runtime.Diagnostic{Summary: "spot request cancelled", Address: "a"}), false},
		{"a provider's own deadline", errors(runtime.Diagnostic{Summary: "waiting for x", Detail: "context deadline exceeded", Address: "a"}), false},
		{"a provider error during the drain", errors(halted, runtime.Diagnostic{Summary: "quota exceeded", Address: "a"}), false},
		{"init that is interrupted", runtime.TextOutput("Error: Failed to query available provider packages\n\nTLS handshake timeout\n\nError: Provider installation was canceled by an interrupt signal."), true},
		{"init whose request is cancelled", runtime.TextOutput("Error: Failed to query available provider packages\n\nGet \"https://r.example\": context\ncanceled"), true},
		{"init that says nothing", runtime.TextOutput("Initializing the backend..."), true},
		{"init that fails by itself", runtime.TextOutput("Error: Invalid version constraint\n\nnot one"), false},
		{"a push that is refused", runtime.TextOutput("Failed to write state: cannot import state with lineage x over y"), false},
	}
	for _, tt := range tests {
		if got := causedByStop(tt.out); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Whom the ladder killed had failed by itself when a provider had already said so.
func TestKilledAfterAProvidersError(t *testing.T) {
	stop := runtime.NewStop(time.Minute)
	stop.Request(ErrSignal)
	r := &run{stop: stop}
	killed := runtime.Exit{Code: 137, Signal: syscall.SIGKILL, Asked: true, Killed: true}
	failed := &runtime.Output{Errors: []runtime.Diagnostic{{Summary: "quota exceeded", Address: "a"}}}
	if f := r.stepFailure("apply", killed, failed); f.reason != result.ReasonProvider {
		t.Errorf("failure = %s %s, want the provider's", f.kind, f.reason)
	}
	if f := r.stepFailure("apply", killed, &runtime.Output{}); f.kind != result.KindInterrupted {
		t.Errorf("failure = %s %s, want interrupted", f.kind, f.reason)
	}
}

// A pause before another try ends at once when the run is to stop.
func TestPauseEndsWithAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{stop: runtime.NewStop(time.Minute)}
		time.AfterFunc(time.Second, func() { r.stop.Request(ErrSignal) })
		start := time.Now()
		if r.sleep(t.Context(), time.Hour) || time.Since(start) != time.Second {
			t.Errorf("the pause ended after %s, want 1s, before its end", time.Since(start))
		}
		if r.sleep(t.Context(), time.Hour) {
			t.Error("a pause after the stop was not cut short")
		}
	})
}

func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(warnings{slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})}).With("state", "m")
	log.Info("refused")
	log.Warn("damaged")
	if got, want := out.String(), "level=WARN msg=damaged state=m\n"; got != want {
		t.Errorf("log = %q, want %q", got, want)
	}
}

// TestAdviceAboutRights tells a right that is missing from a token that nobody knows: only the first can be granted.
func TestAdviceAboutRights(t *testing.T) {
	r := &run{redact: redact.New(), stop: runtime.NewStop(0)}
	for text, want := range map[string]string{
		`Error: secrets is forbidden: User "u" cannot list resource "secrets"`: "grant the ServiceAccount",
		"Error: Failed to get existing workspaces: Unauthorized":               "does not know the token",
	} {
		f := r.stepFailure(stepInit, runtime.Exit{Code: 1}, runtime.TextOutput(text))
		if f.reason != result.ReasonRBAC || !strings.Contains(f.err.Error(), want) {
			t.Errorf("%s: reason %s, %v; want rbac, %q", text, f.reason, f.err, want)
		}
	}
}
