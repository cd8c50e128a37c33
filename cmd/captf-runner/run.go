package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	goruntime "runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/captf/captf-runner/runner"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

func runOperation(args, environ []string, stdout, stderr io.Writer) (code int) {
	defer reportPanic(&code, stderr)
	// The runner waits for one child. With more threads each line of the child's output wakes two, on the cores that the
	// child needs.
	goruntime.GOMAXPROCS(1)
	signals := listen()
	dropOwnEnvironment(environ)

	var o runner.Options
	flags := newFlags(&o)
	switch err := parseFlags(flags, args, environ); {
	case errors.Is(err, flag.ErrHelp):
		printUsage(flags, stdout)
		return result.ExitDone
	case err != nil:
		return refuse(o, err, stderr)
	}
	return execute(o, signals, environ, stdout, stderr)
}

// listen catches the signals that ask a run to stop.
func listen() chan os.Signal {
	// A closed pipe behind our output must not end a run: the child would be left alone.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, stopSignals...)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// execute runs the operation of a command line that could be read.
func execute(o runner.Options, signals chan os.Signal, environ []string, stdout, stderr io.Writer) int {
	stop := runtime.NewStop(o.StopTimeout)
	out, errOut, closeOutlets := outlets(stdout, stderr, stop.Done())
	defer closeOutlets()
	if o.DryRun { // its output is all that it does, and no child waits for it
		out, errOut = stdout, stderr
	}
	log := newLog(errOut, o.Local)
	if err := runtime.Adopt(); err != nil {
		log.Warn("orphans of the runtime cannot be adopted, so some may outlive the run", "error", err)
	}
	defer runtime.EndDescendants()
	watchSignals(signals, stop, log)
	res, err := runner.Run(context.Background(), o, runner.Host{
		Environ: environ, Out: out, Terminal: isTerminal(stdout), Log: log, Stop: stop,
	})
	if err != nil {
		fmt.Fprintf(errOut, "captf-runner: %v\n", err)
	}
	return res.ExitCode()
}

// refuse writes the result of a wrong command line, too: whoever started the Job reads only that.
func refuse(o runner.Options, err error, stderr io.Writer) int {
	fmt.Fprintf(stderr, "captf-runner run: %v (captf-runner run -h lists the flags)\n", err)
	if o.DryRun || o.Local && o.Result == runner.DefaultResult {
		return result.ExitUsage
	}
	if file, errOpen := result.Open(o.Result); errOpen == nil {
		defer file.Close()
		_ = file.Write(runner.UsageResult(o, err), false)
	}
	return result.ExitUsage
}

// reportPanic ends a run that hit a fault of the runner itself. The exit code is what the partial
// result stands for: the Go runtime's own 2 would say that the command line is wrong.
func reportPanic(code *int, stderr io.Writer) {
	if fault := recover(); fault != nil {
		fmt.Fprintf(stderr, "captf-runner: internal error, please report it: %v\n%s", fault, debug.Stack())
		*code = result.ExitRetry
	}
}

// dropOwnEnvironment removes from the runner's own environment what its children must not get: a
// library that reads the environment could hand it on.
func dropOwnEnvironment(environ []string) {
	for _, name := range runtime.NewEnviron(environ, nil).Dropped {
		os.Unsetenv(name)
	}
}

// stopSignals ask a run to stop. All but the first two would end a Go process at once, with an exit code that says that the
// command line is wrong. Those that a fault of the process itself raises do that nevertheless: only what another process
// sends comes here.
var stopSignals = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT,
	syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS,
}

// watchSignals turns the first of these signals, or SIGHUP, into the stop request. Later ones change
// nothing, up to the last moment: without a handler one would end the process with a code that says nothing.
func watchSignals(signals chan os.Signal, stop *runtime.Stop, log *slog.Logger) {
	go func() {
		for s := range signals {
			if stop.Request(fmt.Errorf("%w: %s", runner.ErrSignal, s)) {
				left := time.Until(stop.Deadline()).Round(time.Second)
				log.Warn("asked to stop: the step that runs may finish what it is doing", "signal", s.String(), "for at most", left)
				continue
			}
			log.Warn("already stopping: another signal changes nothing", "signal", s.String())
		}
	}()
}
