package access

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/captf/captf-runner/runner/statesrv"
)

func bcryptOf(t *testing.T, password string) string {
	t.Helper()
	text, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func argonOf(t *testing.T, password string) string {
	t.Helper()
	text, err := HashPassword([]byte(password))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func usersOf(t *testing.T, lines ...string) *Users {
	t.Helper()
	u, err := ParseUsers([]byte(strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// fixed is a Live that does not change.
func fixed(u *Users) *Live[*Users] {
	l := &Live[*Users]{}
	l.value.Store(&u)
	return l
}

func basic(name, password string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.SetBasicAuth(name, password)
	return r
}

func TestPasswords(t *testing.T) {
	a := New(Options{Users: fixed(usersOf(t,
		"# who may use the server", "", "ann:"+bcryptOf(t, "one"), "  bob:"+argonOf(t, "two")+"  ", "cert:-",
		"kim:"+strings.Replace(bcryptOf(t, "four"), "$2a$", "$2b$", 1),
		// The C library's crypt(3) made this one.
		"eve:$2y$04$abcdefghijklmnopqrstuuTQOLWRilZE3.iskJhZKSRHBfwfeCS82"))})
	for _, c := range []struct {
		name, password string
		want           bool
	}{
		{"ann", "one", true}, {"ann", "one", true}, {"ann", "two", false}, {"ann", "", false}, {"ann", "one ", false},
		{"bob", "two", true}, {"bob", "one", false}, {"Bob", "two", false},
		{"kim", "four", true}, {"kim", "one", false},
		{"eve", "three", true}, {"eve", "one", false},
		{"cert", "", false}, {"cert", "-", false}, {"nobody", "one", false}, {"", "one", false},
		{"ann", strings.Repeat("x", maxPassword+1), false},
	} {
		who, err := a.Authenticate(basic(c.name, c.password))
		if (err == nil) != c.want || c.want && who.Name != c.name {
			t.Errorf("%s with %q: %q, %v; want success: %v", c.name, c.password, who.Name, err, c.want)
		}
	}
}

func TestRights(t *testing.T) {
	h := bcryptOf(t, "p")
	users := usersOf(t, "all:"+h, "all2:"+h+":", "team:"+h+":team-a/*,shared", "reader:"+h+":*:read-only", "mid:"+h+":*/prod/*x", "part:"+h+":*prod*")
	for _, c := range []struct {
		user, state string
		read, write bool
	}{
		{"all", "any/thing", true, true}, {"all2", "any", true, true},
		{"team", "team-a/x", true, true}, {"team", "team-a/x/y", true, true}, {"team", "team-a", false, false},
		{"team", "shared", true, true}, {"team", "shared2", false, false}, {"team", "x/team-a/y", false, false},
		{"reader", "any", true, false},
		{"part", "prod/x", true, true}, {"part", "a-prod", true, true}, {"part", "pro/d", false, false},
		{"mid", "a/prod/x", true, true}, {"mid", "a/prod/b/x", true, true}, {"mid", "a/prod/b", false, false}, {"mid", "prod/x", false, false},
	} {
		who := users.byName[c.user].identity()
		if read, write := who.May(c.state, false), who.May(c.state, true); read != c.read || write != c.write {
			t.Errorf("%s on %s: read %v, write %v; want %v, %v", c.user, c.state, read, write, c.read, c.write)
		}
	}
}

func TestNoCredentials(t *testing.T) {
	a := New(Options{Users: fixed(usersOf(t, "ann:"+bcryptOf(t, "one")))})
	if _, err := a.Authenticate(httptest.NewRequest("GET", "/", nil)); !errors.Is(err, statesrv.ErrNoCredentials) {
		t.Errorf("got %v, want that there are none", err)
	}
}

func TestCheckUserName(t *testing.T) {
	for _, name := range []string{"a", "Ann.O'Neil@example.test", "ä", strings.Repeat("a", 256)} {
		if err := CheckUserName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "#a", "a:b", "a b", "a\tb", "a\x00b", "a\u202eb", strings.Repeat("a", 257)} {
		if err := CheckUserName(name); err == nil {
			t.Errorf("%q is the name of a user", name)
		}
	}
}

// Without --client-ca these have no way in, which the server tells at its start.
func TestNeedCertificates(t *testing.T) {
	u := usersOf(t, "z:-", "ann:"+bcryptOf(t, "one"), "build:-:team/*")
	if got := u.NeedCertificates(); !slices.Equal(got, []string{"build", "z"}) {
		t.Errorf("%q, want build and z", got)
	}
}

func TestBadUsersFiles(t *testing.T) {
	good := bcryptOf(t, "p")
	costly := strings.Replace(good, "$04$", "$31$", 1)
	argon := argonOf(t, "p")
	b64 := func(n int) string { return base64.RawStdEncoding.EncodeToString(make([]byte, n)) }
	salt, sum := b64(8), b64(16)
	usersOf(t, "ann:$argon2id$v=19$m=8,t=1,p=1$"+salt+"$"+sum, "bob:$argon2id$v=19$m=1048576,t=32,p=1$"+b64(128)+"$"+b64(128)) // the limits
	for line, want := range map[string]string{
		"ann":                     "want NAME:HASH",
		":" + good:                "user name",
		"a b:" + good:             "user name",
		"ann:plain":               "neither bcrypt",
		"ann:{SHA}x":              "neither bcrypt",
		"ann:$apr1$x$y":           "neither bcrypt",
		"ann:" + good[:40]:        "damaged",
		"ann:" + costly:           "cost 31",
		"ann:" + good + "::write": "want read-only",
		"ann:" + good + ":/x":     "matches no state",
		"ann:" + good + ":a,,b":   "matches no state",
		"ann:" + good + ":::":     "want NAME:HASH",
		"ann:" + strings.Replace(argon, "t=2", "t=0", 1):           "too little",
		"ann:" + strings.Replace(argon, "m=19456", "m=9999999", 1): "too much",
		"ann:" + strings.Replace(argon, "v=19", "v=16", 1):         "version",
		"ann:" + argon[:len(argon)-44]:                             "damaged|too little",
		"ann:" + good + "x":                                        "damaged",
		"ann:" + strings.Replace(argon, "m=19456", "m=x", 1):       "damaged",
		"ann:$argon2id$v=19$m=64,t=1,p=1$!$" + sum:                 "damaged",
		"ann:$argon2id$v=19$m=64,t=1,p=1$" + salt + "$!":           "damaged",
		"ann:$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + sum:      "too little",
		"ann:$argon2id$v=19$m=7,t=1,p=1$" + salt + "$" + sum:       "too little",
		"ann:$argon2id$v=19$m=64,t=1,p=1$" + salt[1:] + "$" + sum:  "damaged|too little",
		"ann:$argon2id$v=19$m=64,t=1,p=1$" + b64(7) + "$" + sum:    "too little",
		"ann:$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + b64(15):  "too little",
		"ann:$argon2id$v=19$m=64,t=33,p=1$" + salt + "$" + sum:     "too much",
		"ann:$argon2id$v=19$m=64,t=1,p=1$" + b64(129) + "$" + sum:  "too much",
		"ann:$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + b64(129): "too much",
	} {
		_, err := ParseUsers([]byte("# first\n" + line + "\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "line 2: ") || !containsAny(err.Error(), want) {
			t.Errorf("%q: %v; want line 2 and %q", line, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "$") && !strings.Contains(err.Error(), "$...") {
			t.Errorf("%q: the error has the hash in it: %v", line, err)
		}
	}
	for text, want := range map[string]string{
		"":                          "no user",
		"# nobody\n":                "no user",
		"ann:" + good + ":team-a/*": "newline",
		"ann:-\nann:" + good + "\n": "twice",
	} {
		if _, err := ParseUsers([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

func containsAny(text, wants string) bool {
	for want := range strings.SplitSeq(wants, "|") {
		if strings.Contains(text, want) {
			return true
		}
	}
	return false
}

func TestHashPasswordRefuses(t *testing.T) {
	for _, password := range []string{"", strings.Repeat("x", maxPassword+1)} {
		if _, err := HashPassword([]byte(password)); err == nil {
			t.Errorf("a password of %d bytes has a hash", len(password))
		}
	}
	if first, second := argonOf(t, "p"), argonOf(t, "p"); first == second {
		t.Error("two hashes of one password are equal: no salt")
	}
}
