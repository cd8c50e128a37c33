package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// foreignStates are where a runtime without a backend keeps the states of a module, below its directory.
var foreignStates = []string{"terraform.tfstate", "terraform.tfstate.d/*/terraform.tfstate"}

// checkForeignState refuses a module that was applied by hand, as long as there is no state of it here: the run
// would start from an empty one, like that of a module which declares a backend.
func (l *local) checkForeignState(ctx context.Context, module string) error {
	if page, err := l.states.Versions(ctx, l.name, 0, 1); err != nil || len(page.Versions) > 0 {
		return nil // a store that cannot be read has a better message when the state is opened
	}
	for _, pattern := range foreignStates {
		found, _ := filepath.Glob(filepath.Join(globQuoted(module), pattern))
		for _, path := range found {
			if holdsResources(path) {
				return usagef("%s is a state of this module: a local run would start from an empty one and make everything a second time; "+
					"bring it in by `statesrv push --data %s %s %s`, or move it away",
					path, filepath.Join(localDir, statesDir), l.name, path)
			}
		}
	}
	return nil
}

// holdsResources tells whether a state has resources, or may have: one that cannot be read, or is encrypted.
func holdsResources(path string) bool {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(data)) == 0 {
		return false
	}
	var state struct {
		Version   int
		Resources []json.RawMessage
		Encrypted json.RawMessage `json:"encrypted_data"`
	}
	return json.Unmarshal(data, &state) != nil || state.Version != 4 || len(state.Resources) > 0 || len(state.Encrypted) > 0
}
