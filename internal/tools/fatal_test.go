package tools

import (
	"fmt"
	"runtime"
	"testing"
)

// fatalTB keeps what a helper says when it ends the test.
type fatalTB struct {
	testing.TB
	message string
}

func (*fatalTB) Helper() {}

func (tb *fatalTB) Fatal(args ...any) {
	tb.message = fmt.Sprint(args...)
	runtime.Goexit()
}

func (tb *fatalTB) Fatalf(format string, args ...any) { tb.Fatal(fmt.Sprintf(format, args...)) }

// fatalOf runs f as a test of its own and returns what it died of, or "" if it did not.
func fatalOf(f func(testing.TB)) string {
	tb := &fatalTB{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(tb)
	}()
	<-done
	return tb.message
}
