package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/captf/captf-runner/runner/root"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// localDir is where a local run keeps everything, in the directory that it is started in.
const localDir = ".captf"

// local is what a run without a cluster has instead of one: a state server of its own, on loopback. It is
// also the lockKeeper of such a run.
type local struct {
	dir     string   // .captf, absolute
	name    string   // of the state
	inUse   *os.File // the flock on the working directory
	store   *dir.Store
	states  *statesrv.States
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
	if err := r.localRoot(); err != nil {
		return err
	}
	if r.opts.needsPlanKey() && r.planKey == nil {
		if r.planKey, err = l.ownPlanKey(); err != nil {
			return err
		}
	}
	if r.opts.DryRun {
		return nil
	}
	if err := l.serve(ctx, r); err != nil {
		return err
	}
	r.keeper = l
	return nil
}

// localRoot makes the root: the rendered one of --config, or else the module itself.
func (r *run) localRoot() error {
	if err := r.local.claim(&r.work); err != nil {
		return err
	}
	if err := r.work.make(r.log); err != nil {
		return err
	}
	if r.opts.Config != "" {
		if err := r.work.copyConfig(r.opts.Config); err != nil {
			return err
		}
	} else {
		levels, err := root.Parents(r.opts.Module)
		if err != nil {
			return fmt.Errorf("module: %w", err)
		}
		if r.work.root, err = mirrorModule(r.opts.Module, r.work.root, levels); err != nil {
			return err
		}
	}
	r.backend.kind = "http"
	return r.prepareBackend()
}

// claim takes the working directory for this run. A second run at the same time works beside it, and
// waits for the state's lock like any other.
func (l *local) claim(w *workspace) error {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return workdirError(err)
	}
	file, err := os.OpenFile(filepath.Join(w.dir, ".in-use"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return workdirError(err)
	}
	l.inUse = file
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		w.dir = fmt.Sprintf("%s.%d", w.dir, os.Getpid())
		w.root = filepath.Join(w.dir, "root")
		return nil
	}
	return err
}

// ownPlanKey is the key of plan hashes that local runs share.
func (l *local) ownPlanKey() ([]byte, error) {
	path := filepath.Join(l.dir, "plan.key")
	if key, err := os.ReadFile(path); err == nil {
		return key, nil
	}
	key := []byte(rand.Text() + rand.Text())
	if err := os.WriteFile(path, key, 0o600); err != nil {
		return nil, fmt.Errorf("plan key: %w", err)
	}
	return key, nil
}

// serve starts the state server for this run alone: on a free loopback port, with a password that only the
// child's environment has.
func (l *local) serve(ctx context.Context, r *run) error {
	var err error
	if l.store, err = dir.Open(ctx, filepath.Join(l.dir, "state"), dir.Options{}); err != nil {
		return fmt.Errorf("local state: %w", err)
	}
	l.states = statesrv.NewStates(l.store, statesrv.Rules{Log: r.log})
	found, err := l.states.Repair(ctx)
	if err != nil {
		return fmt.Errorf("local state: %w", err)
	}
	for _, f := range found {
		r.log.Warn("local state: "+f.Text, "state", f.State)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("local state server: %w", err)
	}
	url := "http://" + listener.Addr().String() + "/states/" + strings.ReplaceAll(l.name, "/", "%2F")
	secret := rand.Text()
	r.redact.Add(secret)
	r.backend.env = map[string]string{
		"TF_HTTP_ADDRESS": url, "TF_HTTP_LOCK_ADDRESS": url, "TF_HTTP_UNLOCK_ADDRESS": url,
		"TF_HTTP_USERNAME": localUser, "TF_HTTP_PASSWORD": secret,
	}
	handler := statesrv.NewHandler(l.states, statesrv.HandlerOptions{Auth: statesrv.NewOneUser(localUser, secret), Log: r.log})
	ctx, l.stop = context.WithCancel(ctx)
	l.stopped = make(chan struct{})
	go func() {
		defer close(l.stopped)
		if err := statesrv.Serve(ctx, listener, handler, r.log); err != nil {
			r.log.Error("local state server", "error", err)
		}
	}()
	return nil
}

// close ends the state server, which then has nobody left to serve.
func (l *local) close() {
	if l.stop != nil {
		l.stop()
		<-l.stopped
	}
	if l.store != nil {
		_ = l.store.Close()
	}
	if l.inUse != nil {
		_ = l.inUse.Close()
	}
}
