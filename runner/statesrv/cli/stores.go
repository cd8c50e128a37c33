package cli

import (
	"context"
	"strings"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
	"github.com/captf/captf-runner/runner/statesrv/store/kubernetes"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
	"github.com/captf/captf-runner/runner/statesrv/store/s3"
)

// openStore opens the store that an address names to write to it, and makes a directory
// that is not there. The caller closes it.
func openStore(ctx context.Context, address string, getenv func(string) string) (st store.Store, closeStore func() error, err error) {
	if path, ok := strings.CutPrefix(address, "dir:"); ok {
		if uid, yes := dir.Foreign(path); yes {
			return nil, nil, ownedError(path, uid)
		}
	}
	return open(ctx, address, getenv, dir.Options{})
}

// openExisting is openStore without making anything.
func openExisting(ctx context.Context, address string, getenv func(string) string) (st store.Store, closeStore func() error, err error) {
	return open(ctx, address, getenv, dir.Options{MustExist: true})
}

// memoryStore is the address of a store that ends with the process.
const memoryStore = "memory:"

func open(ctx context.Context, address string, getenv func(string) string, dirs dir.Options) (st store.Store, closeStore func() error, err error) {
	scheme, rest, _ := strings.Cut(address, ":")
	nothing := func() error { return nil }
	switch {
	case scheme == "dir" && rest != "":
		d, err := dir.Open(ctx, rest, dirs)
		if err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	case address == memoryStore:
		return memory.New(), nothing, nil
	case scheme == "s3":
		opts, err := s3.Parse(address, getenv)
		if err != nil {
			return nil, nil, usagef("store: %w", err)
		}
		st, err := s3.Open(ctx, opts)
		if err != nil {
			return nil, nil, err
		}
		return st, nothing, nil
	case scheme == "kubernetes":
		opts, err := kubernetes.Parse(address, getenv)
		if err != nil {
			return nil, nil, usagef("store: %w", err)
		}
		st, err := kubernetes.Open(opts)
		if err != nil {
			return nil, nil, err
		}
		return st, nothing, nil
	}
	return nil, nil, usagef("store %q: want dir:PATH, s3://BUCKET/PREFIX, kubernetes://NAMESPACE/PREFIX or memory:", address)
}
