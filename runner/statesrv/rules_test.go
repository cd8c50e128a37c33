package statesrv

import (
	"net/http"
	"strings"
	"testing"
)

func status(err error) int {
	switch r := refusalOf(err); {
	case err == nil:
		return http.StatusOK
	case r == nil:
		return http.StatusServiceUnavailable
	default:
		return r.Status
	}
}

func TestMayWrite(t *testing.T) {
	a := &Lock{Info: LockInfo{ID: "a"}}
	for _, c := range []struct {
		name    string
		held    *Lock
		id      string
		require bool
		want    int
		holder  bool
	}{
		{"held, none", a, "", false, 423, true},
		{"held, another", a, "b", false, 409, true},
		{"held, the same", a, "a", false, 200, false},
		{"held, the same, locks required", a, "a", true, 200, false},
		{"held, none, locks required", a, "", true, 423, true},
		{"free, any", nil, "a", false, 409, false},
		{"free, any, locks required", nil, "a", true, 409, false},
		{"free, none", nil, "", false, 200, false},
		{"free, none, locks required", nil, "", true, 428, false},
	} {
		err := mayWrite(c.held, c.id, c.require)
		if got := status(err); got != c.want {
			t.Errorf("%s: %d (%v), want %d", c.name, got, err, c.want)
		}
		if r := refusalOf(err); (r != nil && r.Holder == a) != c.holder {
			t.Errorf("%s: names the holder: %v, want %v", c.name, !c.holder, c.holder)
		}
	}
}

func TestFollows(t *testing.T) {
	now := &Version{Serial: 5, Lineage: "l", Digest: "d"}
	unordered := &Version{Digest: "d", Opaque: true}
	for _, c := range []struct {
		name      string
		current   *Version
		doc       Document
		digest    string
		want      int
		unchanged bool
		message   string
	}{
		{"first write, any lineage", nil, Document{Serial: 0, Lineage: "x"}, "e", 200, false, ""},
		{"next serial", now, Document{Serial: 6, Lineage: "l"}, "e", 200, false, ""},
		{"a gap in serials", now, Document{Serial: 60, Lineage: "l"}, "e", 200, false, ""},
		{"other lineage", now, Document{Serial: 6, Lineage: "m"}, "e", 409, false, "lineage"},
		{"lower serial", now, Document{Serial: 4, Lineage: "l"}, "e", 409, false, "older"},
		{"serial 0 again", now, Document{Serial: 0, Lineage: "l"}, "e", 409, false, "older"},
		{"same serial, same bytes", now, Document{Serial: 5, Lineage: "l"}, "d", 200, true, ""},
		{"same serial, other bytes", now, Document{Serial: 5, Lineage: "l"}, "e", 409, false, "other content"},
		{"opaque with an envelope", now, Document{Serial: 4, Lineage: "l", Opaque: true}, "e", 409, false, "older"},
		{"opaque without an envelope", now, Document{Opaque: true}, "e", 200, false, ""},
		{"after an opaque one without", unordered, Document{Serial: 1, Lineage: "l"}, "e", 200, false, ""},
	} {
		unchanged, err := follows(c.current, c.doc, c.digest)
		if got := status(err); got != c.want || unchanged != c.unchanged {
			t.Errorf("%s: %d, unchanged %v (%v); want %d, %v", c.name, got, unchanged, err, c.want, c.unchanged)
		}
		if err != nil && !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: message %q does not say %q", c.name, err, c.message)
		}
	}
}

func TestMayUnlock(t *testing.T) {
	a := &Lock{Info: LockInfo{ID: "a"}}
	for _, c := range []struct {
		name       string
		id         string
		allowEmpty bool
		want       int
	}{
		{"the same", "a", false, 200},
		{"another", "b", false, 409},
		{"another, empty allowed", "b", true, 409},
		{"none", "", false, 409},
		{"none, allowed", "", true, 200},
	} {
		err := mayUnlock(a, c.id, c.allowEmpty)
		if status(err) != c.want {
			t.Errorf("%s: %v, want %d", c.name, err, c.want)
		}
		if r := refusalOf(err); r != nil && r.Holder != a {
			t.Errorf("%s: the refusal does not name the holder", c.name)
		}
	}
}
