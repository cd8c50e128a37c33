package runner

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/internal/address"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// maxState bounds a restored state, decompressed.
const maxState = 64 << 20

// prepareRestore puts the backup together, and finds what is wrong with it before anything runs.
func (r *run) prepareRestore() error {
	state, err := readRestore(filepath.Join(r.opts.Config, "restore"), r.opts.RestoreChunks)
	if err == nil {
		err = checkState(state, r.opts.RestoreResources)
	}
	if err != nil {
		return fmt.Errorf("%w: restore another backup", err)
	}
	if r.opts.DryRun {
		return nil
	}
	if err := os.WriteFile(restoreFile(r.work), state, 0o600); err != nil {
		return workdirError(err)
	}
	debug.FreeOSMemory() // the runtime, which reads it too, needs the memory more
	return nil
}

// restore pushes the state whose chunks lie in the configuration, over whatever is stored
// (spec/runner.md, "Restore").
func (r *run) restore(ctx context.Context) error {
	push := func(a runtime.Args) []string { return a.StatePush(restoreFile(r.work), true) }
	if _, err := r.step(ctx, step{name: stepStatePush, locks: true, args: push}); err != nil {
		return err
	}
	listed, err := r.step(ctx, step{name: "state-list", args: runtime.Args.StateList})
	if err != nil {
		return err
	}
	// What OpenTofu encrypted shows its resources only now.
	if managed := managedResources(listed.output.Text()); managed == 0 && r.opts.RestoreResources != 0 {
		return &failure{kind: result.KindStep, reason: result.ReasonStateWrite, step: "state-list",
			err: fmt.Errorf("the restored state has no managed resource, but the backup had %d: restore another backup", r.opts.RestoreResources)}
	}
	return nil
}

func restoreFile(w workspace) string { return filepath.Join(w.dir, "restore.tfstate") }

// managedResources counts the addresses of a `state list` that are not data sources.
func managedResources(list string) int {
	n := 0
	for line := range strings.Lines(list) {
		resource := address.InModule(strings.TrimSpace(line))
		if resource != "" && !strings.HasPrefix(resource, "data.") {
			n++
		}
	}
	return n
}

// readRestore joins the chunks of a backup.
func readRestore(dir string, chunks int) ([]byte, error) {
	var compressed bytes.Buffer
	for i := range chunks {
		data, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return nil, fmt.Errorf("chunk %d of %d: %w: put all chunks of the backup into the folder restore of --config", i, chunks, err)
		}
		compressed.Write(data)
	}
	return gunzip(&compressed)
}

// gunzip reads the first member only: what follows it is a chunk left behind by a longer state.
func gunzip(compressed io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, fmt.Errorf("chunks are no gzip: %w", err)
	}
	z.Multistream(false)
	state, err := io.ReadAll(io.LimitReader(z, maxState+1))
	if err != nil {
		return nil, fmt.Errorf("chunks are damaged: %w", err)
	}
	if len(state) > maxState {
		return nil, fmt.Errorf("state is larger than %d MiB", maxState>>20)
	}
	return state, nil
}

// checkState refuses what no backend ever had, before it is pushed over the true state: such a state has a lineage, and
// the resources of the backup. What OpenTofu encrypted does not show them.
func checkState(state []byte, resources int) error {
	var doc struct {
		Version   int
		Lineage   string
		Encrypted json.RawMessage `json:"encrypted_data"`
		Resources []struct {
			Mode      string
			Instances []struct{}
		}
	}
	switch err := json.Unmarshal(state, &doc); {
	case err == nil && doc.Encrypted != nil:
		return nil
	case err != nil || doc.Version != 4:
		return errors.New("chunks hold no state of version 4")
	case doc.Lineage == "":
		return errors.New("chunks hold a state without a lineage, which no backend ever had")
	}
	for _, r := range doc.Resources {
		if r.Mode == "managed" && len(r.Instances) > 0 {
			return nil
		}
	}
	if resources > 0 {
		return fmt.Errorf("chunks hold a state without a managed resource, but the backup had %d", resources)
	}
	return nil
}
