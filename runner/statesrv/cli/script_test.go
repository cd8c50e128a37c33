package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/captf/captf-runner/runner/statesrv/cli"
)

// TestMain lets the scripts run this binary as statesrv.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"statesrv": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(cli.NewApp("v0-test").Run(ctx, os.Args[1:]))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command of a race build takes a second more
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"address": address, "capture": capture, "eventually": eventually, "code": code, "until": until,
			"appendline": appendLine, "envfile": envFile, "fetch": fetch, "answers": answers, "hangup": hangup, "certificates": certificates,
			"disk": disk, "remount": remount, "fill": fill,
		},
	})
}

// address waits for a port file and sets PORT to what is in it, and SERVER to the
// server's address.
func address(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: address FILE")
	}
	wait(ts, func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		port := strings.TrimSpace(string(data))
		ts.Setenv("PORT", port)
		ts.Setenv("SERVER", "http://127.0.0.1:"+port)
		return err == nil
	})
}

// capture sets a variable to what the last command printed.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// code runs a command and checks its exit code.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || fmt.Sprint(exit.ExitCode()) != args[0] {
		ts.Fatalf("%q gives %v, want exit code %s", args[1:], err, args[0])
	}
}

// eventually waits until a file has a text in it.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: eventually FILE TEXT")
	}
	wait(ts, func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && strings.Contains(string(data), args[1])
	})
}

func wait(ts *testscript.TestScript, done func() bool) {
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("waited in vain")
		}
	}
}
