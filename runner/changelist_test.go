package runner

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

func plannedChanges(pairs ...string) (changes []runtime.Change) {
	for i := 0; i < len(pairs); i += 2 {
		changes = append(changes, runtime.Change{Resource: runtime.Resource{Addr: pairs[i]}, Action: pairs[i+1]})
	}
	return changes
}

func testRun() *run {
	return &run{redact: redact.New(), report: report{Result: &result.Result{}}, log: slog.New(slog.DiscardHandler), opts: Options{Op: naming.Apply}}
}

// The list has what is really changed, and no secret.
func TestChangeListHasChanges(t *testing.T) {
	r := testRun()
	r.redact.Add(hidden)
	got := r.changeList("apply", plannedChanges(
		"a["+hidden+"]", "create", "b", "update", "c", "replace", "d", "delete", "e", "noop", "f", "read", "g", "move", "h", "import"))
	want := result.ChangeList{Op: "apply", Step: "apply", Resources: []result.Change{
		{Address: "a[" + redact.Placeholder + "]", Action: "create"}, {Address: "b", Action: "update"}, {Address: "c", Action: "replace"}, {Address: "d", Action: "delete"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

// The result names the list while it has unsaved resources, whichever is known first, and the next change keeps the
// name. A file is removed at the end when all is saved.
func TestListIsNamed(t *testing.T) {
	r := testRun()
	dir := t.TempDir()
	l := r.newLister(t.Context(), step{name: "apply", changes: true})
	l.places = []shelf{folder{dir: filepath.Join(dir, "missing", "one"), prefix: "x-"}}
	started := []runtime.Started{{Address: "a", Action: "create"}}
	r.report.journal(started)
	l.list(plannedChanges("a", "create", "b", "create"))
	l.writing.Wait()
	l.end()
	where := r.report.Unsaved.Planned
	r.report.journal(append(started, runtime.Started{Address: "b", Action: "create"}))
	if where == "" || r.report.Unsaved.Planned != where || r.report.Unsaved.Count != 2 {
		t.Errorf("unsaved = %+v, want the list %q", r.report.Unsaved, where)
	}
	text, err := os.ReadFile(where)
	var list result.ChangeList
	if err != nil || json.Unmarshal(text, &list) != nil || list.Count != 2 {
		t.Errorf("the list: %v\n%s", err, text)
	}
	r.discardList()
	if !exists(where) {
		t.Error("a list that is needed was removed")
	}
	r.report.setUnsaved(nil)
	r.discardList()
	if exists(where) {
		t.Error("a list that nobody needs is left")
	}
}

// shelfFunc is a place whose faults a test chooses: a server that hangs cannot be had at a certain moment.
type shelfFunc func(ctx context.Context) (string, error)

func (f shelfFunc) put(ctx context.Context, _ documentKind, _ []byte) (string, error) { return f(ctx) }

// A place that hangs holds up nothing: the end of the step ends the wait. One that refuses is followed by the next one.
func TestListHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := testRun()
		hang := shelfFunc(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		l := r.newLister(t.Context(), step{name: "apply", changes: true})
		l.places = []shelf{hang}
		begin := time.Now()
		l.list(plannedChanges("a", "create"))
		synctest.Wait()
		l.end()
		if waited := time.Since(begin); waited != 0 || r.report.listed != "" {
			t.Errorf("after %s the list is %q", waited, r.report.listed)
		}
	})
	r := testRun()
	refuse := shelfFunc(func(context.Context) (string, error) { return "", errors.New("refused") })
	take := shelfFunc(func(context.Context) (string, error) { return "there", nil })
	if where := r.keep(t.Context(), []shelf{refuse, take, refuse}, resultDocument, nil); where != "there" {
		t.Errorf("the document is in %q", where)
	}
}

// Only steps that change something real leave a list, and only of something.
func TestNoList(t *testing.T) {
	r := testRun()
	for _, s := range []step{{name: "plan"}, {name: "apply", changes: true}} {
		l := r.newLister(t.Context(), s)
		l.places = []shelf{shelfFunc(func(context.Context) (string, error) { t.Error("a list was written"); return "x", nil })}
		planned := plannedChanges("a", "noop")
		if !s.changes {
			planned = plannedChanges("a", "create")
		}
		l.list(planned)
		l.writing.Wait()
		l.end()
	}
}
