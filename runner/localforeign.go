package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
)

// checkForeignState refuses a module that was applied by hand, as long as there is no state of it here: the run
// would start from an empty one, like that of a module which declares a backend.
func (l *local) checkForeignState(ctx context.Context, module string) error {
	page, err := l.states.Versions(ctx, l.name, 0, 1)
	if err != nil {
		return l.stateError(err)
	}
	if len(page.Versions) > 0 {
		return nil
	}
	files, err := foreignStates(module)
	if err != nil {
		return moduleError(err)
	}
	for _, path := range files {
		holds, err := holdsResources(path)
		if err != nil {
			return moduleError(err)
		}
		if holds {
			return usagef("%s is a state of this module: a local run would start from an empty one and make everything a second time; "+
				"bring it in by `statesrv push --data %s %s %s`, or move it away",
				path, filepath.Join(localDir, statesDir), l.name, path)
		}
	}
	return nil
}

// foreignStates are the files where a runtime without a backend keeps the states of a module, one for each workspace.
func foreignStates(module string) ([]string, error) {
	folders, err := listNamed(filepath.Join(module, "terraform.tfstate.d"), "", "")
	files := []string{filepath.Join(module, localState)}
	for _, folder := range folders {
		files = append(files, filepath.Join(folder, localState))
	}
	return files, err
}

// localState is what a runtime calls a state that it keeps in a file.
const localState = "terraform.tfstate"

// holdsResources tells whether a state has resources, or may have: one that is damaged, or encrypted.
func holdsResources(path string) (bool, error) {
	data, err := os.ReadFile(path)
	if isAbsent(err) || err == nil && len(bytes.TrimSpace(data)) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var state struct {
		Version   int
		Resources []json.RawMessage
		Encrypted json.RawMessage `json:"encrypted_data"`
	}
	return json.Unmarshal(data, &state) != nil || state.Version != 4 || len(state.Resources) > 0 || len(state.Encrypted) > 0, nil
}
