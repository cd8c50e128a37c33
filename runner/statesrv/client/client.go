// Package client speaks to a state server over HTTP. Start with [NewState] for
// one state or [NewServer] for the list of them.
//
// A request that the server does not allow gives a *statesrv.Refusal, as the
// rules themselves do, and damage a statesrv.ErrDamaged; any other error may pass.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/captf/captf-runner/runner/statesrv"
)

// Options say how to reach a server. The zero value needs no credentials.
type Options struct {
	User, Password string
	// HTTP sends the requests; nil means http.DefaultClient.
	HTTP *http.Client
	// Agent is the User-Agent.
	Agent string
}

// Server is a state server.
type Server struct {
	base *url.URL // its path ends before "/states"
	opts Options
}

// State is one state of a server.
type State struct {
	Server
	path string // escaped, from "/states/" on
}

// NewServer takes a server's address, with or without "/states" at its end.
func NewServer(address string, opts Options) (*Server, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/states")
	u.RawPath = ""
	if opts.HTTP == nil {
		opts.HTTP = http.DefaultClient
	}
	return &Server{base: u, opts: opts}, nil
}

// NewState takes a state's address, http://host:port/states/NAME, with "/" in the
// name as "%2F".
func NewState(address string, opts Options) (*State, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	prefix, name := path.Split(u.EscapedPath())
	before, ok := strings.CutSuffix(prefix, "/states/")
	if !ok || name == "" {
		return nil, fmt.Errorf("address %s is not that of a state: want http://HOST:PORT/states/NAME, with %%2F for a slash in NAME", address)
	}
	u.Path, u.RawPath = before, ""
	server, err := NewServer(u.String(), opts)
	if err != nil {
		return nil, err
	}
	return &State{*server, "/states/" + name}, nil
}

func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil && !strings.Contains(address, "://"):
		return nil, fmt.Errorf("address %q: want http://HOST:PORT and a path", address)
	case err != nil:
		return nil, fmt.Errorf("address: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("address %q: want http://HOST:PORT and a path", address)
	case u.User != nil:
		return nil, errors.New("address has a user in it: give credentials in the environment, where other processes do not see them")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("address %q has a query or fragment", address)
	}
	return u, nil
}

// call is one request; its answer is decoded into out, if that is not nil.
type call struct {
	method, path string
	query        url.Values
	body         []byte
	out          any
}

func (s *Server) do(ctx context.Context, c call) (http.Header, error) {
	resp, err := s.send(ctx, c)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if c.out == nil {
		return resp.Header, nil
	}
	if err := json.NewDecoder(resp.Body).Decode(c.out); err != nil {
		return nil, fmt.Errorf("%s %s: the answer is no JSON of a state server: %w", c.method, s.base.Host, err)
	}
	return resp.Header, nil
}

// send returns the answer if it is a success. The caller closes its body.
func (s *Server) send(ctx context.Context, c call) (*http.Response, error) {
	target := strings.TrimSuffix(s.base.String(), "/") + c.path
	if len(c.query) > 0 {
		target += "?" + c.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	if s.opts.User != "" || s.opts.Password != "" {
		req.SetBasicAuth(s.opts.User, s.opts.Password)
	}
	if s.opts.Agent != "" {
		req.Header.Set("User-Agent", s.opts.Agent)
	}
	resp, err := s.opts.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, failure(resp)
}

// failure makes the error of an answer that is no success.
func failure(resp *http.Response) error {
	message := resp.Header.Get(statesrv.ErrorHeader)
	if message == "" {
		return fmt.Errorf("%s answered %s, not as a state server does: check the address", resp.Request.URL.Host, resp.Status)
	}
	switch {
	case resp.StatusCode == http.StatusInternalServerError:
		return damage{message}
	case resp.StatusCode > http.StatusInternalServerError:
		return fmt.Errorf("server fault, which may pass: %s", message)
	}
	refusal := &statesrv.Refusal{Status: resp.StatusCode, Message: message}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var info statesrv.LockInfo
	if err == nil && json.Unmarshal(body, &info) == nil && info.ID != "" {
		refusal.Holder = &statesrv.Lock{Info: info}
	}
	return refusal
}

// damage is an ErrDamaged of the server, which does not pass.
type damage struct{ message string }

func (d damage) Error() string { return "a person has to see to it: " + d.message }

func (damage) Is(target error) bool { return target == statesrv.ErrDamaged }
