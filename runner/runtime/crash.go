package runtime

import (
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// crashLine is the first line that a Go program prints when it crashes, before pages about its goroutines.
var crashLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(fatal error: |panic: |runtime: out of memory|SIG[A-Z]+: ).*`)
})

// outOfMemory is how it says that the cause is its memory.
var outOfMemory = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(fatal error|runtime): .*(out of memory|cannot allocate memory)`)
})

// maxCause bounds how many lines tell the cause of a crash.
const maxCause = 3

// crashCause is what a crash says of its cause, empty without one.
func crashCause(text string) string {
	return strings.Join(crashLine().FindAllString(text, maxCause), "\n")
}

// crash is the class of a step that ended without a word of how it ended, empty of any other. A wrapper may hide the
// signal: a shell makes an exit code of it, and others make their own.
func crash(exit Exit, output *Output) Failure {
	silent := len(output.Diagnostics()) == 0
	switch text := output.Text(); {
	case exit.Killed || len(output.Errors) > 0:
		return ""
	case exit.Code == 128+int(syscall.SIGKILL) && (exit.Signal != 0 || silent), silent && outOfMemory().MatchString(text):
		return FailureKilled
	case exit.Signal != 0, silent && exit.Code > 128, silent && crashLine().MatchString(text), output.Broke():
		return FailureCrashed
	}
	return ""
}

// Broke tells of a step that changed something and did not come to its end.
func (o *Output) Broke() bool { return len(o.Changes) > 0 && !o.Concluded }
