package stores

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestShutdownFinishesRequests sends SIGTERM while the body of a write is on its way:
// no new connection is taken, the write is stored and answered, and the server ends
// well.
func TestShutdownFinishesRequests(t *testing.T) {
	data := t.TempDir()
	p, portFile := serve(t, "dir:"+data)
	var address string
	p.waitFor(t, func() error {
		port, err := os.ReadFile(portFile)
		address = "127.0.0.1:" + strings.TrimSpace(string(port))
		return err
	})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := stateOf(1)
	fmt.Fprintf(conn, "POST /states/s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("%q, %v; want the server to ask for the body", line, err)
	}
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.waitFor(t, func() error {
		late, err := net.Dial("tcp", address)
		if err != nil {
			return nil
		}
		late.Close()
		return fmt.Errorf("connections are still taken")
	})
	if _, err := conn.Write(body); err != nil {
		t.Fatal(err)
	}
	if _, err := answers.ReadString('\n'); err != nil { // the empty line after 100
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Output())
	}
	resp.Body.Close()
	p.waitForEnd(t)
	if resp.StatusCode != http.StatusOK || p.Cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("%s and exit code %d, want 200 and 0:\n%s", resp.Status, p.Cmd.ProcessState.ExitCode(), p.Output())
	}
	if got := run(t, place{}, "pull", "--data", data, "s"); got != string(body) {
		t.Errorf("stored is %q, want %q", got, body)
	}
}
