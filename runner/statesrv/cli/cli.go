// Package cli is the program statesrv: the server and its client. Start with
// [App.Run].
//
// Exit codes: 0 for success, 1 when the request was refused or failed, 2 for a
// command line that cannot be understood.
//
// A command that takes a state takes ADDRESS, http://HOST:PORT/states/NAME with "/" in NAME as "%2F", or --data DIR
// NAME to work on a directory without a server, also while one is running on it. The command ls takes
// http://HOST:PORT. How to reach a server comes from the environment: STATESRV_USERNAME, STATESRV_PASSWORD,
// STATESRV_CA_FILE, STATESRV_CERT_FILE and STATESRV_KEY_FILE, or, where those are not set, from the backend's own
// TF_HTTP_* variables.
package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/statesrv"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// App is what the program gets from the operating system.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	// Getenv reads the environment.
	Getenv func(string) string
	// Terminal reports whether a person can be asked on In and Err.
	Terminal bool
	// ReadHidden reads a line from the terminal and does not show it.
	ReadHidden func() ([]byte, error)
	// Who is the caller's user@host, for lock records.
	Who string
	// Version is the program's.
	Version string
}

type command struct {
	name, args, about string
	run               func(a *App, ctx context.Context, args []string) error
}

// line is how the command is written.
func (c command) line() string { return strings.TrimSpace(c.name + " " + c.args) }

func commands() []command {
	return []command{
		{"serve", "--data DIR", "run the server", (*App).serve},
		{"lock", "ADDRESS", "take the lock and print its ID", (*App).lock},
		{"unlock", "ADDRESS --id ID", "release the lock", (*App).unlock},
		{"push", "ADDRESS FILE", "store a state; - is standard input", (*App).push},
		{"pull", "ADDRESS", "print the state, or an older --version", (*App).pull},
		{"status", "ADDRESS", "show the current version and the lock", (*App).status},
		{"history", "ADDRESS", "list the versions, newest first", (*App).history},
		{"events", "ADDRESS", "list what happened, oldest first; -f follows", (*App).events},
		{"restore", "ADDRESS --version K", "make an old version the current one", (*App).restore},
		{"force-unlock", "ADDRESS --id ID", "break a lock whose holder is gone", (*App).forceUnlock},
		{"ls", "SERVER", "list the states", (*App).list},
		{"copy", "FROM TO", "bring all states of one store to another, with their history", (*App).copy},
		{"diff", "ADDRESS A B", "compare two versions; sensitive values are not shown", (*App).diff},
		{"explain", "FILE|ADDRESS", "tell what is in a state, and what to check before it is changed", (*App).explain},
		{"hash-password", "", "read a password and print its hash for --users", (*App).hashPassword},
		{"version", "", "print the version of this program", (*App).version},
	}
}

// Run runs one command and returns the exit code, which is not 0 when a part of the
// output got lost.
func (a *App) Run(ctx context.Context, args []string) int {
	own := *a
	own.Out = &output{Writer: a.Out}
	code := own.dispatch(ctx, args)
	if err := own.written(); err != nil && code == exitOK {
		fmt.Fprintf(a.Err, "statesrv: %s\n", err)
		code = exitFailed
	}
	return code
}

func (a *App) dispatch(ctx context.Context, args []string) int {
	if len(args) == 0 {
		a.usage(a.Err)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		a.usage(a.Out)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return a.exit(c, c.run(a, ctx, args[1:]))
		}
	}
	fmt.Fprintf(a.Err, "statesrv: there is no command %q; statesrv help lists them\n", args[0])
	return exitUsage
}

func (a *App) usage(w io.Writer) {
	fmt.Fprintln(w, "statesrv keeps the state of OpenTofu and Terraform: one writer at a time, every version kept.\n\nCommands:")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-32s %s\n", c.line(), c.about)
	}
	fmt.Fprintln(w, "\nADDRESS is http://HOST:PORT/states/NAME, or --data DIR NAME without a server."+
		"\nSERVER is http://HOST:PORT, or --data DIR."+
		"\nstatesrv COMMAND -h shows the options. Exit codes: 0 done, 1 refused or failed, 2 usage.")
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// handled is an error that the user has been told of.
type handled struct{ error }

// exit tells of an error and returns the code for it.
func (a *App) exit(c command, err error) int {
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, new(handled)):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(a.Err, "statesrv %s: %s\nusage: statesrv %s; -h shows the options\n", c.name, table.Printable(err.Error()), c.line())
		return exitUsage
	}
	fmt.Fprintf(a.Err, "statesrv %s: %s%s\n", c.name, table.Printable(err.Error()), wayOut(err))
	return exitFailed
}

// wayOut names the variables by which a server can be reached that refused the caller, or
// that the caller refused.
func wayOut(err error) string {
	var refusal *statesrv.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized:
		return "; set STATESRV_USERNAME and STATESRV_PASSWORD, or for a client certificate STATESRV_CERT_FILE and STATESRV_KEY_FILE"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "; STATESRV_CA_FILE names a file with the authority"
	}
	return ""
}

func (a *App) version(_ context.Context, args []string) error {
	if _, err := a.bare("version").parse(args, 0); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "statesrv %s\n", a.Version)
	return nil
}

// refusal is what -o json prints for a request that was refused.
type refusal struct {
	Error  string             `json:"error"`
	Status int                `json:"status,omitempty"`
	Holder *statesrv.LockInfo `json:"holder,omitempty"`
}
