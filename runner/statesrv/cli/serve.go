package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/access"
	"github.com/captf/captf-runner/runner/statesrv/metrics"
	"github.com/captf/captf-runner/runner/statesrv/web"
)

// server is what serve puts together.
type server struct {
	app     *App
	opts    serveOptions
	log     *slog.Logger
	metrics *metrics.Metrics
	protect *protection
}

func (a *App) serve(ctx context.Context, args []string) error {
	opts, err := a.parseServe(args)
	if err != nil {
		return err
	}
	s := &server{app: a, opts: opts, log: opts.logger(a.Err), metrics: metrics.New(a.Version)}
	if s.protect, err = a.protect(opts); err != nil {
		return err
	}
	s.warnOpenFiles()
	s.warnPassword()
	st, closeStore, err := openStore(ctx, opts.store, a.Getenv)
	if err != nil {
		return err
	}
	defer closeStore()
	opts.rules.Log, opts.rules.Observe = s.log, s.metrics.Event
	states := statesrv.NewStates(st, opts.rules)
	err = s.prepare(ctx, states, st)
	if err != nil && !noRoom(err) {
		return fmt.Errorf("store %s: %w", opts.store, err)
	}
	defer flush(states)
	defer s.untilWritable(ctx, states, st, err)()
	return s.run(ctx, states)
}

// warnPassword tells whoever believes that a password alone protects something, or that
// a user without one can come in.
func (s *server) warnPassword() {
	if s.opts.user == "" && s.app.Getenv(passwordVar) != "" {
		s.log.Warn(passwordVar + " is set, but nobody has to give that password: it needs --user NAME")
	}
	if len(s.protect.shutOut) > 0 {
		s.log.Warn("users without a password need a client certificate, and without --client-ca none is accepted", "users", s.protect.shutOut)
	}
}

// run listens and answers until ctx is done.
func (s *server) run(ctx context.Context, states *statesrv.States) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(s.opts.host, strconv.Itoa(s.opts.port)))
	if err != nil {
		return err
	}
	if err := writePort(s.opts.portFile, l.Addr()); err != nil {
		return err
	}
	s.announce(l.Addr())
	if s.protect.tls != nil {
		s.metrics.Certificate(s.protect.notAfter)
		l = tls.NewListener(l, access.ServerTLS(s.protect.tls))
	}
	defer s.background(ctx, states)()
	err = statesrv.Serve(ctx, l, s.handler(states), s.log)
	if err == nil {
		s.log.Info("stopped")
	}
	return err
}

// background starts what goes on beside the requests, until stop is called.
func (s *server) background(ctx context.Context, states *statesrv.States) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	hangups, quiet := s.app.hangups()
	var group sync.WaitGroup
	group.Go(func() { access.Watch(ctx, reloadEvery, hangups, s.reloaded, s.protect.files...) })
	group.Go(func() { s.prune(ctx, states) })
	return func() {
		cancel()
		group.Wait()
		quiet()
	}
}

// prune does so at once and then every hour.
func (s *server) prune(ctx context.Context, states *statesrv.States) {
	if s.opts.prune == (statesrv.PruneRules{}) {
		return
	}
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		n, err := states.PruneAll(ctx, s.opts.prune)
		if err != nil && ctx.Err() == nil {
			s.log.Error("not all is pruned", "error", err)
		}
		if n > 0 {
			s.log.Info("pruned", "versions", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// reloadEvery is how long new users and certificates take to be used.
const reloadEvery = 5 * time.Second

func (s *server) announce(addr net.Addr) {
	scheme := "http://"
	if s.protect.tls != nil {
		scheme = "https://"
	}
	s.log.Info("serving", "address", scheme+addr.String()+"/states/NAME", "store", s.opts.store, "access", s.protect.how)
	if s.protect.auth == nil && !loopback(s.opts.host) {
		s.log.Warn("anybody who reaches this address can read and write every state: --users, --user or --client-ca closes it")
	}
}

func (s *server) handler(states *statesrv.States) http.Handler {
	api := statesrv.NewHandler(states, statesrv.HandlerOptions{
		Auth: s.protect.auth, MaxBody: s.opts.maxBody, Log: s.log, OnRequest: s.answered,
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	mux.Handle("/", api)
	page := web.New(states, web.Options{Auth: s.protect.auth, Admin: s.opts.webAdmin, Log: s.log, OnRequest: s.answered})
	mux.Handle("/{$}", page)
	mux.Handle(web.Path, page)
	return s.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A mux redirects a path with a double slash or dots to another one, which api
		// refuses to do for states.
		if strings.HasPrefix(r.URL.Path, "/states/") {
			api.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// answered tells of a request. Health checks come every few seconds: only their
// failures are news.
func (s *server) answered(r statesrv.RequestRecord) {
	s.metrics.Request(r)
	level := slog.LevelInfo
	if r.Status < 400 && (r.Route == "/healthz" || r.Route == "/readyz") {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(context.Background(), level, "request",
		slog.String("method", r.Method), slog.String("path", r.Path), slog.Int("status", r.Status),
		slog.String("user", r.User), slog.String("state", r.State), slog.String("addr", r.Addr), slog.String("agent", r.Agent),
		slog.Int64("bytes", r.Sent), slog.Duration("duration", r.Duration))
}

func (s *server) reloaded(paths []string, err error) {
	s.metrics.Reloaded(err)
	if err != nil {
		s.log.Error("not reloaded: the old one stays in use", "files", paths, "error", err)
		return
	}
	s.log.Info("reloaded", "files", paths)
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
