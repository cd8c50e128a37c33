package cli_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/captf/captf-runner/internal/pki"
)

// The commands of scripts that need no process.

// check ends the script after an error.
func check(ts *testscript.TestScript, err error) { ts.Check(err) }

// until runs a command until it succeeds.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: until COMMAND...")
	}
	wait(ts, func() bool { return ts.Exec(args[0], args[1:]...) == nil })
}

// appendLine adds a line to a file: the arguments, in which stdout stands for what
// the last command printed.
func appendLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: appendline FILE TEXT...")
	}
	var line strings.Builder
	for _, arg := range args[1:] {
		if arg == "stdout" {
			arg = strings.TrimSpace(ts.ReadFile("stdout"))
		}
		line.WriteString(arg)
	}
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	check(ts, err)
	check(ts, os.WriteFile(file, fmt.Appendln(data, line.String()), 0o600))
}

// envFile sets a variable to what a file has.
func envFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: envfile NAME FILE")
	}
	ts.Setenv(args[0], ts.ReadFile(args[1]))
}

// hangup sends SIGHUP to the processes in the background.
func hangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: hangup")
	}
	for _, cmd := range ts.BackgroundCmds() {
		check(ts, cmd.Process.Signal(syscall.SIGHUP))
	}
}

// fetch prints what a URL answers with 200.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fetch URL")
	}
	status, body := get(ts, args[0])
	if status != http.StatusOK {
		ts.Fatalf("%s: %d\n%s", args[0], status, body)
	}
	_, err := ts.Stdout().Write(body)
	check(ts, err)
}

// answers checks the status that a URL answers with, also when asked by another name.
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: answers STATUS URL [HOST]")
	}
	if status, body := get(ts, args[1], args[2:]...); fmt.Sprint(status) != args[0] {
		ts.Fatalf("%s: %d, want %s\n%s", args[1], status, args[0], body)
	}
}

// get sends a path as it is and follows no redirect.
func get(ts *testscript.TestScript, url string, host ...string) (status int, body []byte) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	check(ts, err)
	if len(host) > 0 {
		req.Host = host[0]
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	check(ts, err)
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	check(ts, err)
	return resp.StatusCode, body
}

// certificates makes a directory with an authority, a server's certificate and
// those of the users ann and eve.
func certificates(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: certificates DIR")
	}
	dir := ts.MkAbs(args[0])
	check(ts, os.Mkdir(dir, 0o700))
	ca, err := pki.New("test")
	check(ts, err)
	check(ts, os.WriteFile(dir+"/ca.crt", ca.PEM(), 0o600))
	for name, template := range map[string]*x509.Certificate{
		"server": pki.Serving("server"),
		"ann":    pki.Client(pkix.Name{CommonName: "ann"}),
		"eve":    pki.Client(pkix.Name{CommonName: "eve"}),
	} {
		cert, key, err := ca.Issue(template)
		check(ts, err)
		check(ts, os.WriteFile(dir+"/"+name+".crt", cert, 0o600))
		check(ts, os.WriteFile(dir+"/"+name+".key", key, 0o600))
	}
}
