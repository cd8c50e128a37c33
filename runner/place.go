package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
)

// place is where a runtime is configured to keep its state: what its init wrote into the data directory.
type place struct {
	Backend struct {
		Type   string
		Config map[string]any
	}
}

// readPlace is what a file says of it; nil when it says nothing.
func readPlace(path string) *place {
	data, err := os.ReadFile(path)
	var p place
	if err != nil || json.Unmarshal(data, &p) != nil || p.Backend.Type == "" {
		return nil
	}
	for key, value := range p.Backend.Config {
		if value == nil { // each runtime, and each version of it, lists other settings
			delete(p.Backend.Config, key)
		}
	}
	return &p
}

func (w workspace) configured() string { return filepath.Join(w.dataDir(), "terraform.tfstate") }

// placeNote is where a kept state's place is noted.
func placeNote(kept string) string { return kept + ".backend" }

// notePlaces is for the states that the last run left. The directory is still configured as that run had it.
func (w workspace) notePlaces() error {
	kept, err := w.keptStates()
	if err != nil {
		return err
	}
	for _, path := range kept {
		if exists(placeNote(path)) {
			continue
		}
		data, err := os.ReadFile(w.configured())
		if isAbsent(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(placeNote(path), data, 0o600)
		}
		if err != nil {
			return workdirError(err)
		}
	}
	return nil
}

// checkPlace refuses to push a kept state to another place than its own, where it could look like a first state. It is
// for after init.
func (r *run) checkPlace(kept string) error {
	noted, now := readPlace(placeNote(kept)), readPlace(r.work.configured())
	if noted == nil || now == nil || reflect.DeepEqual(noted, now) {
		return nil
	}
	return usagef("workdir: %s is a state that a run with other settings of its backend could not save: "+
		"run that one again in this --workdir, and give this run one of its own", kept)
}
