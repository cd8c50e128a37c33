package kubetest

import (
	"sync"
	"testing"
)

// shared is the server of this test process.
var shared struct {
	allowed bool // Run is there to stop it
	once    sync.Once
	server  *Server
	err     error
}

// Run runs a package's tests, and stops the server that Shared has started, if a test asked for one:
//
//	func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }
func Run(m *testing.M) int {
	shared.allowed = true
	code := m.Run()
	if shared.server != nil {
		shared.server.stop()
	}
	return code
}

// Shared returns the server that all tests of a package share. The first call starts it.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	if !shared.allowed {
		tb.Fatal("a shared server needs a TestMain that calls kubetest.Run")
	}
	p := findPrograms(tb)
	shared.once.Do(func() { shared.server, shared.err = start(p) })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server
}
