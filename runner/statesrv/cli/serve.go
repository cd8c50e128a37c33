package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
)

const defaultPort = 7371

// serveOptions are the options of the server.
type serveOptions struct {
	store    string
	host     string
	port     int
	portFile string
	user     string
	insecure bool
	maxBody  int64
	rules    statesrv.Rules
}

func (a *App) serve(ctx context.Context, args []string) error {
	opts, err := a.parseServe(args)
	if err != nil {
		return err
	}
	auth, err := a.auth(opts)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.Err, nil))
	opts.rules.Log = log
	st, closeStore, err := openStore(ctx, opts.store, a.Getenv)
	if err != nil {
		return err
	}
	defer closeStore()
	states, err := prepare(ctx, st, opts.rules)
	if err != nil {
		return fmt.Errorf("store %s: %w", opts.store, err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(opts.host, strconv.Itoa(opts.port)))
	if err != nil {
		return err
	}
	if err := writePort(opts.portFile, l.Addr()); err != nil {
		return err
	}
	log.Info("serving", "address", "http://"+l.Addr().String()+"/states/NAME", "store", opts.store, "user", opts.user)
	handler := statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: auth, MaxBody: opts.maxBody, Log: log})
	return statesrv.Serve(ctx, l, handler, log)
}

func (a *App) parseServe(args []string) (serveOptions, error) {
	o := a.options("serve")
	var s serveOptions
	o.StringVar(&s.store, "store", "", "where states are kept, `dir:PATH`, s3://BUCKET/PREFIX or memory:; --data DIR is short for dir:DIR")
	o.StringVar(&s.host, "listen", "127.0.0.1", "`address` to listen on")
	o.IntVar(&s.port, "port", defaultPort, "`port` to listen on; 0 takes a free one")
	o.StringVar(&s.portFile, "port-file", "", "`file` to write the port to, once connections are accepted")
	o.StringVar(&s.user, "user", "", "`name` that clients must give, with the password in STATESRV_PASSWORD")
	o.BoolVar(&s.rules.RequireLock, "require-lock", false, "refuse writes without a lock")
	o.BoolVar(&s.rules.AllowEmptyUnlock, "allow-empty-unlock", false, "let Terraform's force-unlock, which names no lock, break any")
	o.Int64Var(&s.maxBody, "max-body", statesrv.DefaultMaxBody, "most `bytes` of a state")
	o.BoolVar(&s.insecure, "insecure", false, "listen on other addresses than loopback without TLS")
	if _, err := o.parse(args, 0); err != nil {
		return s, err
	}
	if o.data != "" {
		if s.store != "" {
			return s, usagef("--data and --store exclude each other")
		}
		s.store = "dir:" + o.data
	}
	return s, s.validate()
}

func (s *serveOptions) validate() error {
	switch {
	case s.store == "":
		return usagef("--data DIR is needed: where states are kept")
	case s.port < 0 || s.port > 65535:
		return usagef("--port %d: want 0 to 65535", s.port)
	case s.maxBody <= 0:
		return usagef("--max-body %d: want a positive number", s.maxBody)
	case !s.insecure && !loopback(s.host):
		return usagef("--listen %s is not loopback: passwords and states would travel in clear; --insecure allows it", s.host)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (a *App) auth(s serveOptions) (statesrv.Authenticator, error) {
	if s.user == "" {
		return statesrv.Anyone{}, nil
	}
	password := a.Getenv("STATESRV_PASSWORD")
	if password == "" {
		return nil, usagef("--user %s needs the password in STATESRV_PASSWORD", s.user)
	}
	return statesrv.NewOneUser(s.user, password), nil
}

// prepare proves the store and repairs what a crash has left in it.
func prepare(ctx context.Context, st store.Store, rules statesrv.Rules) (*statesrv.States, error) {
	states := statesrv.NewStates(st, rules)
	findings, err := states.Repair(ctx)
	for _, f := range findings {
		level := slog.LevelInfo
		if f.Damage {
			level = slog.LevelError
		}
		rules.Log.Log(ctx, level, "start-up check", "state", f.State, "found", f.Text)
	}
	if err != nil {
		return nil, err
	}
	err = store.Prove(ctx, st)
	if errors.Is(err, store.ErrUnproven) {
		err = fmt.Errorf("%w; one lock could be granted twice, so nothing is served: take another --store", err)
	}
	return states, err
}

// writePort writes the port as a whole, so that whoever waits for the file never
// reads half of it.
func writePort(file string, addr net.Addr) error {
	if file == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".port-*")
	if err != nil {
		return fmt.Errorf("port file: %w", err)
	}
	defer os.Remove(temp.Name())
	if _, err := fmt.Fprintln(temp, port); err != nil {
		return fmt.Errorf("port file: %w", err)
	}
	if err := temp.Close(); err != nil {
		return fmt.Errorf("port file: %w", err)
	}
	return os.Rename(temp.Name(), file)
}
