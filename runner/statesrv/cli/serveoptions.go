package cli

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
)

const defaultPort = 7371

// serveOptions are the options of the server.
type serveOptions struct {
	store    string
	host     string
	port     int
	portFile string
	insecure bool
	webAdmin bool
	maxBody  int64
	rules    statesrv.Rules
	prune    statesrv.PruneRules

	user, users             string
	cert, key, clientCA     string
	logFormat, logLevelName string
	logLevel                slog.Level
}

func (a *App) parseServe(args []string) (serveOptions, error) {
	o := a.bare("serve")
	var s serveOptions
	o.StringVar(&o.data, "data", "", "keep the states in this `directory`: short for --store dir:DIR")
	o.StringVar(&s.store, "store", "", "where states are kept, `dir:PATH`, s3://BUCKET/PREFIX, kubernetes://NAMESPACE/PREFIX or memory:")
	o.StringVar(&s.host, "listen", "127.0.0.1", "`address` to listen on")
	o.IntVar(&s.port, "port", defaultPort, "`port` to listen on; 0 takes a free one")
	o.StringVar(&s.portFile, "port-file", "", "`file` to write the port to, once connections are accepted")
	o.BoolVar(&s.rules.RequireLock, "require-lock", false, "refuse writes without a lock")
	o.BoolVar(&s.rules.AllowEmptyUnlock, "allow-empty-unlock", false, "let Terraform's force-unlock, which names no lock, break any")
	o.Int64Var(&s.maxBody, "max-body", statesrv.DefaultMaxBody, "most `bytes` of a state")
	o.IntVar(&s.prune.MaxVersions, "max-versions", 0, "keep the bytes of this `many` versions of a state; 0 keeps all")
	o.Func("max-age", "keep the bytes of a version for this `time` after the next one, as 90d or 36h; without it for ever", s.setMaxAge)
	o.BoolVar(&s.webAdmin, "web-admin", false, "let the web page release locks and restore versions; needs users")
	s.accessFlags(o)
	o.StringVar(&s.logFormat, "log-format", "text", "`format` of the log: text or json")
	o.StringVar(&s.logLevelName, "log-level", "info", "least `level` that is logged: debug, info, warn or error")
	if _, err := o.parse(args, 0); err != nil {
		return s, err
	}
	if inside, ok := strings.CutPrefix(s.host, "["); ok { // as in a URL
		s.host = strings.TrimSuffix(inside, "]")
	}
	if o.data != "" {
		if s.store != "" {
			return s, usagef("--data and --store exclude each other")
		}
		s.store = "dir:" + o.data
	}
	return s, s.validate()
}

// setMaxAge takes days besides what time.ParseDuration knows.
func (s *serveOptions) setMaxAge(text string) error {
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		age = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || age <= 0 || age > 100*365*24*time.Hour {
		return errors.New("want a time as 90d or 36h")
	}
	s.prune.MaxAge = age
	return nil
}

func (s *serveOptions) accessFlags(o *options) {
	o.StringVar(&s.user, "user", "", "`name` that clients must give, with the password in STATESRV_PASSWORD")
	o.StringVar(&s.users, "users", "", "`file` with lines NAME:HASH[:PATTERNS[:read-only]]; see statesrv hash-password")
	o.StringVar(&s.cert, "tls-cert", "", "`file` with the server's certificate, PEM")
	o.StringVar(&s.key, "tls-key", "", "`file` with the certificate's key, PEM")
	o.StringVar(&s.clientCA, "client-ca", "", "`file` with the authorities of client certificates, PEM; the common name is the user")
	o.BoolVar(&s.insecure, "insecure", false, "listen on other addresses than loopback without TLS")
}

func (s *serveOptions) validate() error {
	switch {
	case s.store == "":
		return usagef("--data DIR is needed: where states are kept")
	case s.port < 0 || s.port > 65535:
		return usagef("--port %d: want 0 to 65535", s.port)
	case s.prune.MaxVersions < 0:
		return usagef("--max-versions %d: want a positive number, or 0 for all", s.prune.MaxVersions)
	case s.maxBody <= 0:
		return usagef("--max-body %d: want a positive number", s.maxBody)
	case s.logFormat != "text" && s.logFormat != "json":
		return usagef("--log-format %q: want text or json", s.logFormat)
	case s.logLevel.UnmarshalText([]byte(s.logLevelName)) != nil:
		return usagef("--log-level %q: want debug, info, warn or error", s.logLevelName)
	}
	return s.validateAccess()
}

func (s *serveOptions) validateAccess() error {
	switch {
	case s.user != "" && s.users != "":
		return usagef("--user and --users exclude each other: put %s into the file", s.user)
	case (s.cert == "") != (s.key == ""):
		return usagef("--tls-cert and --tls-key are needed together")
	case s.webAdmin && s.user == "" && s.users == "" && s.clientCA == "":
		return usagef("--web-admin needs --user, --users or --client-ca: else whoever opens the page could release every lock")
	case s.clientCA != "" && s.cert == "":
		return usagef("--client-ca needs --tls-cert and --tls-key: client certificates are a part of TLS")
	case s.cert == "" && !s.insecure && !loopback(s.host):
		return usagef("--listen %s is not loopback: passwords and states would travel in clear; give --tls-cert and --tls-key, or --insecure where something else encrypts", s.host)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *serveOptions) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: s.logLevel}
	if s.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
