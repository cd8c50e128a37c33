package runner

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

const hidden = "hunter2-hunter2"

// secretEverywhere is a result with the secret in each of its free texts.
func secretEverywhere() *result.Result {
	changes := []result.Change{{Address: "a[" + hidden + "]", Action: "create"}}
	return &result.Result{
		Op:      "apply",
		Runtime: result.Runtime{Command: []string{"tofu", hidden}},
		Plan:    &result.Plan{Resources: changes},
		Drift:   &result.Drift{Resources: changes},
		Lock:    &result.Lock{Who: hidden, Operation: hidden},
		Unsaved: &result.Unsaved{Count: 1, Resources: []result.UnsavedResource{{Address: hidden, Action: "create", ID: hidden}}},
		Error:   &result.Error{Tail: hidden, Resources: []result.ErrorResource{{Address: hidden, Summary: hidden}}},
	}
}

func TestResultHoldsNoSecret(t *testing.T) {
	secrets := redact.New()
	r := &run{redact: secrets, report: report{redact: secrets, Result: secretEverywhere()}, opts: Options{Result: filepath.Join(t.TempDir(), "result.json")}}
	r.redact.Add(hidden, "apply", "create")
	file, err := result.Open(r.opts.Result)
	if err != nil {
		t.Fatal(err)
	}
	r.report.file = file
	r.report.write(false)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(r.opts.Result)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(doc, []byte(hidden)) || bytes.Count(doc, []byte(redact.Placeholder)) != 10 {
		t.Errorf("the result holds the secret, or not each text: %s", doc)
	}
	if got, err := result.Decode(doc); err != nil || got.Op != "apply" || got.Unsaved.Resources[0].Action != "create" {
		t.Errorf("the words of the contract were replaced: %v %s", err, doc)
	}
	if r.report.Error.Tail != hidden || r.report.Plan.Resources[0].Address != "a["+hidden+"]" {
		t.Error("writing changed the result itself")
	}
}

// lazy is a value that is only known when it is logged.
type lazy struct{}

func (lazy) LogValue() slog.Value { return slog.StringValue("resolved " + hidden) }

func TestLogHoldsNoSecret(t *testing.T) {
	var out bytes.Buffer
	r := newRun(Options{}, Host{Log: slog.New(slog.NewTextHandler(&out, nil))})
	r.redact.Add(hidden)
	r.log.With("with", lazy{}).Log(context.Background(), slog.LevelInfo, "message "+hidden, "value", lazy{}, slog.Group("group", "inner", lazy{}))
	if got := out.String(); strings.Contains(got, hidden) || strings.Count(got, redact.Placeholder) != 4 || strings.Count(got, "resolved") != 3 {
		t.Errorf("log = %s", got)
	}
}

// What is cut is redacted before: of half a secret nobody would know that it is one.
func TestErrorHoldsNoSecret(t *testing.T) {
	r := newRun(Options{}, Host{Log: slog.New(slog.DiscardHandler), Stop: runtime.NewStop(0)})
	r.redact.Add(hidden)
	text := strings.Repeat("x", result.TailSize-len("hunter2-… [cut]")) + hidden + " and more"
	res, err := r.finish(&failure{kind: result.KindStep, reason: result.ReasonConfig, err: errors.New(text)})
	if strings.Contains(err.Error(), hidden) || !strings.Contains(err.Error(), redact.Placeholder) {
		t.Errorf("the error is %q", err)
	}
	if tail := res.Error.Tail; strings.Contains(tail, "hunter2") || !strings.HasSuffix(tail, "[cut]") {
		t.Errorf("the tail is %q, want a cut one without any part of the secret", tail)
	}
}
