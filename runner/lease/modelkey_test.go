package lease_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/captf/captf-runner/runner/lease"
)

// key is equal for two states that behave alike: times count from now, and of a version that a pass
// has read only counts whether it is still the current one, because no version ever comes back. Managers
// that are alike may change places.
func (m model) key(s state) string {
	k := keyWriter{world: s.world}
	fmt.Fprintf(&k, "faults=%d jumps=%d intruders=%d", s.faults, s.jumps, s.intruders)
	for _, name := range slices.Sorted(maps.Keys(s.world.leases)) {
		k.lease(s.world.leases[name])
	}
	k.jobs(s.world.jobs)
	passes := make([]string, len(s.passes))
	for i, p := range s.passes {
		passes[i] = passKey(s.world, p)
	}
	if m.alike() {
		slices.Sort(passes)
	}
	return k.String() + strings.Join(passes, "")
}

func (m model) alike() bool {
	for _, objects := range m.managers {
		if m.ownNames || !slices.Equal(objects, m.managers[0]) {
			return false
		}
	}
	return true
}

func passKey(w *world, p pass) string {
	k := keyWriter{world: w}
	k.WriteString(" | ")
	if !p.idle() {
		k.WriteString(objects[p.object].Name)
		for _, a := range p.answers {
			k.answer(a)
		}
		k.WriteString(" → " + p.call.verb + " " + p.call.name)
	}
	return k.String()
}

type keyWriter struct {
	strings.Builder
	world *world
}

func (k *keyWriter) age(t time.Time) {
	if age := k.world.now.Sub(t) / time.Second; age != 0 {
		fmt.Fprintf(k, " -%ds", age)
	}
}

func (k *keyWriter) lease(l *coordinationv1.Lease) {
	r := lease.FromLease(l)
	k.WriteString(" [" + r.Kind + " " + r.Job)
	k.age(r.AcquiredAt)
	if now := k.world.leases[l.Name]; now != nil && now.ResourceVersion == l.ResourceVersion {
		k.WriteString(" current")
	}
	k.WriteString("]")
}

func (k *keyWriter) jobs(jobs map[string]lease.Job) {
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		k.WriteString(" " + name)
		k.job(jobs[name])
	}
}

func (k *keyWriter) job(j lease.Job) {
	switch {
	case j.Finished:
		k.WriteString("=finished")
	case j.Exists:
		k.WriteString("=running")
	}
}

func (k *keyWriter) answer(a answer) {
	k.WriteString(" (")
	k.age(a.now)
	k.job(a.job)
	k.jobs(a.jobs)
	if a.lease != nil {
		k.lease(a.lease)
	}
	for i := range a.list {
		k.lease(&a.list[i])
	}
	if a.err != nil {
		k.WriteString(a.err.Error())
	}
	k.WriteString(")")
}
