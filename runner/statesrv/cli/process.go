package cli

import (
	"os"
	"os/signal"
	"os/user"
	"syscall"

	"golang.org/x/term"
)

// NewApp returns an App of this process.
func NewApp(version string) *App {
	return &App{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Version: version,
		Terminal: isTerminal(os.Stdin) && isTerminal(os.Stderr), Who: whoami(),
		ReadHidden: func() ([]byte, error) { return term.ReadPassword(int(os.Stdin.Fd())) },
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func whoami() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

// hangups gets a SIGHUP, which asks a server to read its files again, until stop
// is called.
func (*App) hangups() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}
