package statesrv_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// rawClient writes one state over one connection, with bytes that are made before:
// the two processors of a benchmark are the server's as far as possible.
type rawClient struct {
	conn   net.Conn
	answer *bufio.Reader
	header []byte
}

func dialRaw(b *testing.B, server, state string, bytes int) *rawClient {
	b.Helper()
	address := strings.TrimPrefix(server, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	header := fmt.Sprintf("POST /states/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		state, address, bytes)
	return &rawClient{conn, bufio.NewReader(conn), []byte(header)}
}

func (c *rawClient) post(body []byte) error {
	request := net.Buffers{c.header, body}
	if _, err := request.WriteTo(c.conn); err != nil {
		return err
	}
	return c.success()
}

// success reads an answer, which has to be 200 and tell its length.
func (c *rawClient) success() error {
	status, err := c.answer.ReadSlice('\n')
	if err != nil || !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
		return errors.Join(err, fmt.Errorf("answer %q", status))
	}
	length := -1
	for {
		line, err := c.answer.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			_, _ = fmt.Sscan(string(text), &length)
		}
	}
	_, err = c.answer.Discard(length)
	return err
}

// overHTTP writes the states of a server, each over a connection of its own.
func overHTTP(b *testing.B, server string) func(client, n int) error {
	clients, bodies, names := make([]*rawClient, benchClients), make([][]byte, benchClients), rand.Text()
	for i := range clients {
		bodies[i] = stateOf(benchBytes)
		clients[i] = dialRaw(b, server, fmt.Sprint(names, i), len(bodies[i]))
	}
	return func(client, n int) error {
		setSerial(bodies[client], n)
		return clients[client].post(bodies[client])
	}
}

// sink is a server that receives bodies and does nothing with them: what the wire
// costs both sides.
func sink(b *testing.B) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "0")
	}))
	b.Cleanup(server.Close)
	return server.URL
}
