package torture

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/result"
)

// document is what is looked at of a state.
type document struct {
	Serial    uint64 `json:"serial"`
	Lineage   string `json:"lineage"`
	Resources []struct {
		Mode, Type, Name string
		Instances        []struct {
			Attributes struct{ Path, Content string }
		}
	} `json:"resources"`
}

func parseState(t *testing.T, state []byte) (d document) {
	t.Helper()
	if state == nil {
		return d
	}
	if err := json.Unmarshal(state, &d); err != nil {
		t.Fatalf("stored state: %v\n%s", err, state)
	}
	return d
}

// has counts the instances of an object.
func (d document) has(o object) (n int) {
	for _, r := range d.Resources {
		if r.Type+"."+r.Name != o.address {
			continue
		}
		for _, i := range r.Instances {
			if filepath.Base(i.Attributes.Path) == o.name {
				n++
			}
		}
	}
	return n
}

// names are all objects that the state knows, sorted.
func (d document) names() (names []string) {
	for _, r := range d.Resources {
		for _, i := range r.Instances {
			names = append(names, filepath.Base(i.Attributes.Path))
		}
	}
	slices.Sort(names)
	return names
}

// follows checks that a state is not older than an earlier one, and of the same life.
func (d document) follows(t *testing.T, before document) {
	t.Helper()
	if before.Lineage != "" && d.Lineage != before.Lineage {
		t.Errorf("the lineage was %s and is %s", before.Lineage, d.Lineage)
	}
	if d.Serial < before.Serial {
		t.Errorf("the serial was %d and is %d", before.Serial, d.Serial)
	}
}

// made counts how often the provider has really made an object, less how often it has removed it: each create makes
// another one, so what a run forgot and the next one made again counts twice.
func (tr *trial) made(name string) (n int) {
	tr.t.Helper()
	ledger, err := os.ReadFile(tr.ledger)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		tr.t.Fatal(err)
	}
	for line := range strings.Lines(string(ledger)) {
		call, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if filepath.Base(path) != name {
			continue
		}
		switch call {
		case "create":
			n++
		case "delete":
			n--
		}
	}
	return n
}

// names counts how often a run's result names an object among those that no saved state may know.
func (e ending) names(o object) (n int) {
	if e.result == nil || e.result.Unsaved == nil {
		return 0
	}
	for _, r := range e.result.Unsaved.Resources {
		if r.Address == o.address && r.Action != "delete" {
			n++
		}
	}
	return n
}

// rescued is the state that a result says is kept elsewhere, empty without one.
func (tr *trial) rescued(e ending) document {
	tr.t.Helper()
	if e.result == nil || e.result.State == nil {
		return document{}
	}
	switch e.result.State.Saved {
	case result.SavedRescueDir:
		state, err := os.ReadFile(e.result.State.Where)
		if err != nil {
			tr.t.Fatal(err)
		}
		return parseState(tr.t, state)
	case result.SavedRescued:
		return parseState(tr.t, tr.store.rescued(tr.t, e.result.State.Where))
	}
	return document{}
}

// account is what there really is of each object, and what of that the state has.
type account struct {
	state       document
	made, known map[object]int
	// gone counts those that the state still has, though a run has removed them.
	gone map[object]int
}

func (tr *trial) account() account {
	tr.t.Helper()
	a := account{state: parseState(tr.t, tr.store.state(tr.t)), made: map[object]int{}, known: map[object]int{}, gone: map[object]int{}}
	for _, o := range objects {
		a.made[o], a.known[o] = tr.made(o.name), a.state.has(o)
	}
	return a
}

// settle finds what a run has really made, or has left there, and what is neither in the state now nor rescued, and is
// not named by the run's own result. It returns the account after the run.
func (tr *trial) settle(when string, before account, run ending) account {
	tr.t.Helper()
	after := tr.account()
	after.state.follows(tr.t, before.state)
	rescued := tr.rescued(run)
	for _, o := range objects {
		made, known := after.made[o]-before.made[o], after.known[o]-before.known[o]
		unknown := made - known - before.gone[o]
		after.gone[o] = max(-unknown, 0)
		if unknown > run.names(o)+rescued.has(o) {
			tr.t.Errorf("%s: the run has made %d of %s, the state has got %d, and the result names %d", when, made, o.name, known, run.names(o))
		}
	}
	return after
}

// checkFiles compares the files that there are in the end with those that the state knows.
func (tr *trial) checkFiles(state document) {
	tr.t.Helper()
	entries, err := os.ReadDir(tr.files)
	if err != nil {
		tr.t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		there = append(there, e.Name())
	}
	if !slices.Equal(there, state.names()) {
		tr.t.Errorf("there are really %v, and the state knows %v", there, state.names())
	}
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			if content, err := os.ReadFile(i.Attributes.Path); err != nil || string(content) != i.Attributes.Content {
				tr.t.Errorf("%s holds %q, %v; the state says %q", i.Attributes.Path, content, err, i.Attributes.Content)
			}
		}
	}
}
