package cli

import (
	"os"
	"os/user"

	"golang.org/x/term"
)

// NewApp returns an App of this process.
func NewApp(version string) *App {
	return &App{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Version: version,
		Terminal: isTerminal(os.Stdin) && isTerminal(os.Stderr), Who: whoami(),
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
