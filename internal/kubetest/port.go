package kubetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// freePort returns a loopback port that nobody listens on. It is below the range that the kernel takes
// ports of outgoing connections from: so the API server finds its port free after an outage.
func freePort() (int, error) {
	const low, high, tries = 20000, 32000, 100
	var errs []error
	for range tries {
		port := low + rand.IntN(high-low)
		listener, err := net.Listen("tcp", loopback(port))
		if err == nil {
			return port, listener.Close()
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("no free port in %d tries: %w", tries, errors.Join(errs...))
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// FreeAddress returns such a port's address, for a server that a test starts.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return loopback(port)
}
