package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
)

// Options say how callers may show who they are. At least one is to be set.
type Options struct {
	// Users is a users file; nil for none.
	Users *Live[*Users]
	// Basic is asked about passwords instead of Users; nil for none.
	Basic statesrv.Authenticator
	// Certificates accepts client certificates that the TLS layer has verified. The
	// common name is the user's; with Users it must be in the file, which says what
	// the user may do.
	Certificates bool
}

// How many hashes are calculated at once, how many requests may wait for that,
// and how long.
const (
	hashSlots    = 4
	hashWaiters  = 256
	hashPatience = 5 * time.Second
)

// Authenticator is a statesrv.Authenticator.
type Authenticator struct {
	opts  Options
	slots chan struct{}
	queue chan struct{}
	wait  time.Duration
}

// New returns an Authenticator.
func New(opts Options) *Authenticator {
	return &Authenticator{opts: opts, slots: make(chan struct{}, hashSlots), queue: make(chan struct{}, hashWaiters), wait: hashPatience}
}

// Authenticate implements statesrv.Authenticator. A client certificate says who
// the caller is, and a password beside it is not looked at; one of another user is
// refused, for the caller would not act as whom they believe.
func (a *Authenticator) Authenticate(r *http.Request) (statesrv.Identity, error) {
	if name, ok := a.certified(r); ok {
		user, _, both := r.BasicAuth()
		if both && user != name && (a.opts.Users != nil || a.opts.Basic != nil) {
			return statesrv.Identity{}, fmt.Errorf("%w: the client certificate is of %q and the password of %q: send one of them",
				statesrv.ErrBadCredentials, name, user)
		}
		return a.byCertificate(name)
	}
	switch {
	case a.opts.Users != nil:
		return a.byPassword(r)
	case a.opts.Basic != nil:
		return a.opts.Basic.Authenticate(r)
	}
	return statesrv.Identity{}, fmt.Errorf("%w, in a client certificate", statesrv.ErrNoCredentials)
}

// certified returns the common name of a verified client certificate.
func (a *Authenticator) certified(r *http.Request) (name string, ok bool) {
	if !a.opts.Certificates || r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return "", false
	}
	return r.TLS.VerifiedChains[0][0].Subject.CommonName, true
}

func (a *Authenticator) byCertificate(name string) (statesrv.Identity, error) {
	if name == "" {
		return statesrv.Identity{}, fmt.Errorf("%w: the client certificate has no common name", statesrv.ErrBadCredentials)
	}
	if a.opts.Users == nil {
		return statesrv.Identity{Name: name}, nil
	}
	who := a.opts.Users.Get().byName[name]
	if who == nil {
		return statesrv.Identity{}, fmt.Errorf("%w: %q of the client certificate is not in the users file", statesrv.ErrBadCredentials, name)
	}
	return who.identity(), nil
}

func (a *Authenticator) byPassword(r *http.Request) (statesrv.Identity, error) {
	name, password, ok := r.BasicAuth()
	if !ok {
		return statesrv.Identity{}, statesrv.ErrNoCredentials
	}
	if checkPassword([]byte(password)) != nil {
		return statesrv.Identity{}, statesrv.ErrBadCredentials
	}
	users := a.opts.Users.Get()
	if !users.known(name, password) {
		right, err := a.hashed(r.Context(), func() bool { return users.check(name, password) })
		if err != nil {
			return statesrv.Identity{}, err
		}
		if !right {
			return statesrv.Identity{}, statesrv.ErrBadCredentials
		}
	}
	return users.byName[name].identity(), nil
}

// errBusy is a fault that passes: clients try again.
var errBusy = errors.New("too many passwords are being checked: try again")

// hashed runs check when its turn comes.
func (a *Authenticator) hashed(ctx context.Context, check func() bool) (bool, error) {
	select {
	case a.queue <- struct{}{}:
		defer func() { <-a.queue }()
	default:
		return false, errBusy
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.wait, errBusy)
	defer cancel()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
		return check(), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
