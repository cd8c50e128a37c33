package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/captf/captf-runner/runner/statesrv"
)

// Users are those of one users file.
type Users struct {
	byName map[string]*user
	hashes []hash // of all users that have one
	key    []byte // of this table's digests

	mu       sync.Mutex
	verified map[string][]byte // by name, the digest of the password that was right
}

// user is one line of the file.
type user struct {
	name     string
	hash     hash // nil: no password
	patterns []string
	readOnly bool
}

// ParseUsers reads a users file; see the package's comment. An error names the
// line, and nothing that is secret.
func ParseUsers(data []byte) (*Users, error) {
	u := &Users{byName: map[string]*user{}, key: make([]byte, sha256.Size), verified: map[string][]byte{}}
	_, _ = rand.Read(u.key) // never fails
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := u.add(text); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return u, u.whole(data)
}

// NeedCertificates returns the users who have no password: only a client certificate lets
// them in.
func (u *Users) NeedCertificates() []string {
	var names []string
	for name, user := range u.byName {
		if user.hash == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// whole refuses a file that may be half written: without its end, a line could
// allow more than it says.
func (u *Users) whole(data []byte) error {
	switch {
	case len(u.byName) == 0:
		return errors.New("no user is in it")
	case data[len(data)-1] != '\n':
		return errors.New("its last line has no newline at its end")
	}
	return nil
}

func (u *Users) add(line string) error {
	parsed, err := parseUser(line)
	if err != nil {
		return err
	}
	if u.byName[parsed.name] != nil {
		return fmt.Errorf("user %q is there twice", parsed.name)
	}
	u.byName[parsed.name] = parsed
	if parsed.hash != nil {
		u.hashes = append(u.hashes, parsed.hash)
	}
	return nil
}

func parseUser(line string) (*user, error) {
	fields := strings.Split(line, ":")
	if len(fields) < 2 || len(fields) > 4 {
		return nil, fmt.Errorf("want NAME:HASH[:PATTERNS[:read-only]]")
	}
	u := &user{name: fields[0]}
	if err := CheckUserName(u.name); err != nil {
		return nil, err
	}
	if fields[1] != "-" {
		var err error
		if u.hash, err = parseHash(fields[1]); err != nil {
			return nil, fmt.Errorf("user %q: %w", u.name, err)
		}
	}
	if len(fields) > 2 && fields[2] != "" {
		u.patterns = strings.Split(fields[2], ",")
	}
	for _, p := range u.patterns {
		if err := checkPattern(p); err != nil {
			return nil, fmt.Errorf("user %q: %w", u.name, err)
		}
	}
	if len(fields) > 3 {
		if fields[3] != "read-only" {
			return nil, fmt.Errorf("user %q: the fourth field is %q; want read-only or nothing", u.name, fields[3])
		}
		u.readOnly = true
	}
	return u, nil
}

// CheckUserName returns nil if a user may have that name in a users file.
func CheckUserName(name string) error {
	bad := func(r rune) bool { return r == ':' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if name == "" || len(name) > 256 || strings.HasPrefix(name, "#") || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("user name %.64q: want 1 to 256 bytes without colons and spaces, not beginning with #", name)
	}
	return nil
}

// checkPattern finds patterns that no state's name can match: a typing error
// would lock users out in silence.
func checkPattern(pattern string) error {
	if err := statesrv.CheckName(strings.ReplaceAll(pattern, "*", "x")); err != nil {
		return fmt.Errorf("pattern %q matches no state: %w", pattern, err)
	}
	return nil
}

// matches reports whether a name fits a pattern, in which "*" stands for any
// characters.
func matches(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], after
	}
}

func (u *user) identity() statesrv.Identity {
	return statesrv.Identity{Name: u.name, May: u.may}
}

func (u *user) may(state string, write bool) bool {
	if write && u.readOnly {
		return false
	}
	for _, p := range u.patterns {
		if matches(p, state) {
			return true
		}
	}
	return len(u.patterns) == 0
}

// known reports whether the password was found right before.
func (u *Users) known(name, password string) bool {
	u.mu.Lock()
	before := u.verified[name]
	u.mu.Unlock()
	return hmac.Equal(before, u.digest("password", password))
}

// check calculates the user's hash, or another user's if there is no such user, so
// that both cost the same.
func (u *Users) check(name, password string) bool {
	who := u.byName[name]
	if who == nil || who.hash == nil {
		if h := u.decoy(name); h != nil {
			h.matches([]byte(password))
		}
		return false
	}
	if !who.hash.matches([]byte(password)) {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.verified[name] = u.digest("password", password)
	return true
}

// decoy returns always the same user's hash for a name: hashes may differ in
// their cost, and users who exist do not change theirs either.
func (u *Users) decoy(name string) hash {
	if len(u.hashes) == 0 {
		return nil
	}
	n := binary.BigEndian.Uint64(u.digest("decoy", name))
	return u.hashes[n%uint64(len(u.hashes))]
}

func (u *Users) digest(what, text string) []byte {
	mac := hmac.New(sha256.New, u.key)
	mac.Write([]byte(what + "\x00" + text))
	return mac.Sum(nil)
}
