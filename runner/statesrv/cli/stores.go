package cli

import (
	"context"
	"strings"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// openStore opens the store that an address names. The caller closes it.
func openStore(ctx context.Context, address string) (st store.Store, closeStore func() error, err error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch {
	case scheme == "dir" && rest != "":
		d, err := dir.Open(ctx, rest, dir.Options{})
		if err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	case scheme == "memory" && rest == "":
		return memory.New(), func() error { return nil }, nil
	}
	return nil, nil, usagef("--store %q: want dir:PATH or memory:", address)
}
