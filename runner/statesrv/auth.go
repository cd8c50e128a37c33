package statesrv

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
)

// Identity is an authenticated user.
type Identity struct {
	Name string
	// May reports whether the user may read a state, or write, lock and unlock it.
	// nil means everything.
	May func(state string, write bool) bool
}

// Allows reports whether the user may read a state, or change it.
func (i Identity) Allows(state string, write bool) bool { return i.May == nil || i.May(state, write) }

// forbid is the refusal (403) of what the user is not allowed.
func (i Identity) forbid(state string, write bool) *Refusal {
	if write && i.Allows(state, false) {
		return forbidden("user %q may read state %s, but neither lock nor change it", i.Name, state)
	}
	return forbidden("user %q has no right to state %s", i.Name, state)
}

var (
	// ErrNoCredentials: the request brings none. The answer is 401.
	ErrNoCredentials = errors.New("credentials are needed: basic auth")
	// ErrBadCredentials: they are wrong. The answer is 403.
	ErrBadCredentials = errors.New("user or password is wrong")
)

// Authenticator tells who sends a request. It returns an error that wraps
// ErrNoCredentials or ErrBadCredentials; any other error is a fault (503).
type Authenticator interface {
	Authenticate(r *http.Request) (Identity, error)
}

// Anyone is the Authenticator of a server without authentication.
type Anyone struct{}

// Authenticate implements Authenticator.
func (Anyone) Authenticate(*http.Request) (Identity, error) { return Identity{}, nil }

// OneUser is an Authenticator for one user and password, compared in constant
// time.
type OneUser struct {
	name string
	sums [2][sha256.Size]byte
}

// NewOneUser returns an Authenticator that knows one user.
func NewOneUser(name, password string) OneUser {
	return OneUser{name, [2][sha256.Size]byte{sha256.Sum256([]byte(name)), sha256.Sum256([]byte(password))}}
}

// Authenticate implements Authenticator.
func (u OneUser) Authenticate(r *http.Request) (Identity, error) {
	name, password, ok := r.BasicAuth()
	if !ok {
		return Identity{}, ErrNoCredentials
	}
	n, p := sha256.Sum256([]byte(name)), sha256.Sum256([]byte(password))
	if subtle.ConstantTimeCompare(n[:], u.sums[0][:])&subtle.ConstantTimeCompare(p[:], u.sums[1][:]) != 1 {
		return Identity{}, ErrBadCredentials
	}
	return Identity{Name: u.name}, nil
}
