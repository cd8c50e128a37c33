package stores

import (
	"bytes"
	"slices"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
)

// verify compares what the servers have with what they have acknowledged.
func (l *load) verify(t *testing.T) {
	t.Helper()
	versions, granted, released, refused := 0, 0, 0, 0
	for _, s := range slices.Concat(l.locked, l.open) {
		versions += l.verifyVersions(t, s)
		for _, ev := range l.events(t, s) {
			switch {
			case ev.Refused != "":
				refused++
			case ev.Action == statesrv.ActionLock:
				granted++
			case ev.Action == statesrv.ActionUnlock:
				released++
			}
		}
	}
	t.Logf("%s; %d versions, each read back from both servers", &l.counts, versions)
	c := &l.counts
	if int64(versions) != c.written.Load() {
		t.Errorf("there are %d versions of %d acknowledged writes", versions, c.written.Load())
	}
	if int64(granted) != c.granted.Load() || int64(released) != c.released.Load() || int64(refused) != c.held.Load()+c.tooLate.Load() {
		t.Errorf("events tell of %d locks, %d unlocks and %d refusals; the clients of %s", granted, released, refused, c)
	}
}

// verifyVersions checks that the history has no gap, and that every acknowledged
// write is in it and can be read from every server.
func (l *load) verifyVersions(t *testing.T, s *state) int {
	t.Helper()
	all := l.versions(t, s)
	for i, v := range all { // newest first
		if v.Number != len(all)-i {
			t.Fatalf("%s: version %d where %d should be", s.name, v.Number, len(all)-i)
		}
		if i > 0 && v.Serial >= all[i-1].Serial {
			t.Errorf("%s: version %d has serial %d, and the next one %d", s.name, v.Number, v.Serial, all[i-1].Serial)
		}
		if known := s.bySerial[v.Serial]; known.Number != v.Number || known.Digest != v.Digest {
			t.Errorf("%s: version %d is not the one that was acknowledged for serial %d", s.name, v.Number, v.Serial)
		}
		for _, server := range l.servers {
			body, err := pull(at(t, server, s.name).Pull(t.Context(), v.Number))
			if err != nil || !bytes.Equal(body, s.bodies[v.Number]) {
				t.Errorf("%s: version %d reads as %q, %v; want %q", s.name, v.Number, body, err, s.bodies[v.Number])
			}
		}
	}
	return len(all)
}

func (l *load) versions(t *testing.T, s *state) []statesrv.Version {
	t.Helper()
	var all []statesrv.Version
	for before := 0; ; {
		page, err := at(t, pick(l.servers), s.name).Versions(t.Context(), before, 100)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Versions...)
		if before = page.Next; before == 0 {
			return all
		}
	}
}

// events returns all events of a state, each of which has its own ID and, if it
// made a version, its own version.
func (l *load) events(t *testing.T, s *state) []statesrv.Event {
	t.Helper()
	var all []statesrv.Event
	ids, made := map[string]bool{}, map[int]bool{}
	for after := ""; ; {
		page, err := at(t, pick(l.servers), s.name).Events(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			break
		}
		after = page.Next
		for _, ev := range page.Events {
			if ids[ev.ID] || ev.Version != 0 && made[ev.Version] {
				t.Errorf("%s: event %s of version %d is there twice", s.name, ev.ID, ev.Version)
			}
			ids[ev.ID], made[ev.Version] = true, true
			all = append(all, ev)
		}
	}
	delete(made, 0)
	if len(made) != len(s.bodies) {
		t.Errorf("%s: events tell of %d versions, want %d", s.name, len(made), len(s.bodies))
	}
	return all
}
