package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/root"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// localDir is where a local run keeps everything, in the directory that it is started in.
const localDir = ".captf"

// The folders in it: for the states, and for results and what belongs to them.
const (
	statesDir  = "state"
	resultsDir = "results"
)

// local is what a run without a cluster has instead of one: a state server of its own, on loopback. It is
// also the lockKeeper of such a run.
type local struct {
	dir     string // .captf, absolute
	name    string // of the state
	store   *dir.Store
	states  *statesrv.States
	fault   atomic.Pointer[error]
	stop    context.CancelFunc
	stopped chan struct{}
}

// localUser is the name by which a local run is known to its state server.
const localUser = "captf-runner"

// prepareLocal makes the root and starts the state server.
func (r *run) prepareLocal(ctx context.Context) error {
	var err error
	l := &local{}
	if l.name, err = localName(r.opts.Module); err != nil {
		return err
	}
	if l.dir, err = filepath.Abs(localDir); err != nil {
		return err
	}
	r.local = l
	if err := r.localRoot(ctx); err != nil {
		return err
	}
	if r.opts.needsPlanKey() && r.inputs.planKey == nil {
		if r.inputs.planKey, err = l.ownPlanKey(); err != nil {
			return err
		}
	}
	if r.opts.DryRun {
		return nil
	}
	secret := rand.Text()
	r.redact.Add(secret)
	if r.backend.env, err = l.serve(ctx, r.log, secret, r.work.lockNote()); err != nil {
		return err
	}
	r.keeper = l
	return l.checkForeignState(ctx, cmp.Or(r.opts.Config, r.opts.Module))
}

// localRoot makes the root: the rendered one of --config, or else the module itself.
func (r *run) localRoot(ctx context.Context) error {
	if r.opts.Config != "" {
		if err := r.work.copyConfig(r.opts.Config); err != nil {
			return err
		}
	} else {
		levels, err := root.Parents(r.opts.Module)
		if err != nil {
			return moduleError(err)
		}
		if r.work.root, err = mirrorModule(r.opts.Module, r.work.root, levels); err != nil {
			return err
		}
	}
	// An http backend as well: its own address would win over the one of the local server.
	module, err := scanRoot(r.work.root)
	if err != nil {
		return err
	}
	if module.Backend != nil {
		return usagef("%s declares backend %q: a local run would start from an empty state and make everything a second time; "+
			"remove the block, or run without --local and with --backend-config", module.Backend.File, module.Backend.Type)
	}
	return r.prepareBackend(ctx, "http")
}

// ownPlanKey is the key of plan hashes that local runs share.
func (l *local) ownPlanKey() ([]byte, error) {
	path := filepath.Join(l.dir, "plan.key")
	there, err := isThere(path)
	if err == nil && !there {
		err = l.makePlanKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("plan key: %w: %s", err, l.wayOut(err))
	}
	return plan.ReadKey(path)
}

// makePlanKey makes the key whole or not at all. Of runs that do so at once one is the first.
func (l *local) makePlanKey(path string) error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(l.dir, ".plan.key-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(rand.Text() + rand.Text())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return os.Rename(file.Name(), path) // the file system has no links
	}
	return nil
}

// serve starts the state server for this run alone: on a free loopback port, with a secret as its password that only the
// child's environment has, which it returns. The locks that are asked for are noted in the file note.
func (l *local) serve(ctx context.Context, log *slog.Logger, secret, note string) (env map[string]string, err error) {
	// What it refuses, a runtime or this run tells of, as far as a person has to know.
	quiet := slog.New(warnings{log.Handler()})
	if err := l.openStates(ctx, quiet); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("local state server: %w", err)
	}
	url := "http://" + listener.Addr().String() + "/states/" + flat(l.name)
	handler := statesrv.NewHandler(l.states, statesrv.HandlerOptions{
		Auth: statesrv.NewOneUser(localUser, secret), Log: quiet, OnFault: l.noteFault,
	})
	noting := noteLocks(handler, note, secret, l.noteFault)
	ctx, l.stop = context.WithCancel(ctx)
	l.stopped = make(chan struct{})
	go func() {
		defer close(l.stopped)
		if err := statesrv.Serve(ctx, listener, noting, log); err != nil {
			log.Error("local state server", "error", err)
		}
	}()
	return map[string]string{
		"TF_HTTP_ADDRESS": url, "TF_HTTP_LOCK_ADDRESS": url, "TF_HTTP_UNLOCK_ADDRESS": url,
		"TF_HTTP_USERNAME": localUser, "TF_HTTP_PASSWORD": secret,
	}, nil
}

// openStates opens the local states, and repairs what killed runs have left of them.
func (l *local) openStates(ctx context.Context, log *slog.Logger) (err error) {
	if l.store, err = dir.Open(ctx, filepath.Join(l.dir, statesDir), dir.Options{}); err != nil {
		return l.stateError(err)
	}
	if err := l.checkWritable(); err != nil {
		return err
	}
	l.states = statesrv.NewStates(l.store, statesrv.Rules{Log: log})
	found, err := l.states.Repair(ctx)
	if err != nil {
		return l.stateError(err)
	}
	for _, f := range found {
		if f.State != "" { // else another run is going on, which has looked
			log.Warn("local state: "+f.Text, "state", f.State)
		}
	}
	return nil
}

// flushTime is how long the files for people may take at the end.
const flushTime = 10 * time.Second

// close ends the state server, which then has nobody left to serve.
func (l *local) close() {
	if l.stop != nil {
		l.stop()
		<-l.stopped
	}
	if l.states != nil {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		l.states.Flush(ctx)
	}
	if l.store != nil {
		_ = l.store.Close()
	}
}
