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

	"golang.org/x/term"

	"github.com/captf/captf-runner/runner"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

func runOperation(args, environ []string, stdout, stderr io.Writer) (code int) {
	defer reportPanic(&code, stderr)
	// The runner waits for one child. With more threads each line of the child's output wakes two, on the cores that the
	// child needs.
	goruntime.GOMAXPROCS(1)
	// A closed pipe behind our output must not end a run: the child would be left alone.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
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
	log := newLog(stderr, o.Local)
	if err := runtime.Adopt(); err != nil {
		log.Warn("orphans of the runtime cannot be adopted, so some may outlive the run", "error", err)
	}
	defer runtime.EndDescendants()
	stop := runtime.NewStop(o.StopTimeout)
	watchSignals(signals, stop, log)
	res, err := runner.Run(context.Background(), o, runner.Host{
		Environ: environ, Out: stdout, Terminal: isTerminal(stdout), Log: log, Stop: stop,
	})
	if err != nil {
		fmt.Fprintf(stderr, "captf-runner: %v\n", err)
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

// watchSignals turns the first SIGTERM, SIGINT or SIGHUP into the stop request. Later ones change
// nothing, up to the last moment: without a handler one would end the process with a code that says nothing.
func watchSignals(signals chan os.Signal, stop *runtime.Stop, log *slog.Logger) {
	go func() {
		for s := range signals {
			if stop.Request(fmt.Errorf("%w: %s", runner.ErrSignal, s)) {
				log.Warn("asked to stop: the step that runs may finish what it is doing", "signal", s.String())
			}
		}
	}()
}

// newLog logs as text. A person who watches a local run has no use for the time.
func newLog(w io.Writer, local bool) *slog.Logger {
	withoutTime := func(groups []string, a slog.Attr) slog.Attr {
		if local && len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
