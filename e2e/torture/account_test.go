package torture

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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
		Instances        []json.RawMessage
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

// has counts the instances of an address.
func (d document) has(address string) (n int) {
	for _, r := range d.Resources {
		if r.Type+"."+r.Name == address {
			n += len(r.Instances)
		}
	}
	return n
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

var addresses = []string{"probe_file.first", "probe_file.second", "probe_file.third"}

// made counts the objects that the provider has really made of an address, and not removed since: each create
// makes another one, so what a run forgot and the next one made again counts twice.
func (tr *trial) made(address string) (n int) {
	tr.t.Helper()
	ledger, err := os.ReadFile(tr.ledger)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		tr.t.Fatal(err)
	}
	name := strings.TrimPrefix(address, "probe_file.")
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

// names counts how often a run's result names an address among what no saved state may know.
func (e ending) names(address string) (n int) {
	if e.result == nil || e.result.Unsaved == nil {
		return 0
	}
	for _, r := range e.result.Unsaved.Resources {
		if r.Address == address {
			n++
		}
	}
	return n
}

// rescued is the state that a result says is kept elsewhere, empty without one.
func (e ending) rescued(t *testing.T) document {
	t.Helper()
	if e.result == nil || e.result.State == nil || e.result.State.Saved != result.SavedRescueDir {
		return document{}
	}
	state, err := os.ReadFile(e.result.State.Where)
	if err != nil {
		t.Fatal(err)
	}
	return parseState(t, state)
}

// account is what there really is of each address, and what of that the state has.
type account struct {
	state       document
	made, known map[string]int
}

func (tr *trial) account() account {
	tr.t.Helper()
	a := account{state: parseState(tr.t, tr.store.state(tr.t)), made: map[string]int{}, known: map[string]int{}}
	for _, address := range addresses {
		a.made[address], a.known[address] = tr.made(address), a.state.has(address)
	}
	return a
}

// settle finds what a run has really made, is neither in the state now nor rescued, and is not named by the run's own
// result. It returns the account after the run.
func (tr *trial) settle(when string, before account, run ending) account {
	tr.t.Helper()
	after := tr.account()
	after.state.follows(tr.t, before.state)
	for _, address := range addresses {
		made := after.made[address] - before.made[address]
		known := after.known[address] - before.known[address] + run.names(address) + run.rescued(tr.t).has(address)
		if made > known {
			tr.t.Errorf("%s: the run has made %d of %s, and %d are in the state or named by its result", when, made, address, known)
		}
	}
	return after
}
