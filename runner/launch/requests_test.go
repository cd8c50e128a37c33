package launch

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/naming"
)

// The requests from "apply is due" to "the Job exists", one by one: docs/launch.md lists why each is made.
func TestRequestsToCreateAJob(t *testing.T) {
	tests := map[string]struct {
		kind naming.Kind
		op   naming.Op
		want []string
	}{
		"machine applies": {naming.Machine, naming.Apply, []string{
			"GET jobs", "GET leases lock", "GET secrets", "GET secrets tfstate", // what there is
			"GET leases cluster", "POST leases", "GET leases cluster", // who may
			"GET jobs",          // it is still so
			"GET secrets state", // the state has a backup
			"POST secrets", "POST jobs", "PATCH secrets m",
		}},
		"machine looks for drift": {naming.Machine, naming.Drift, []string{
			"GET jobs", "GET leases lock", "GET secrets", "GET secrets tfstate",
			"GET leases cluster", "POST leases", "GET leases cluster",
			"GET jobs", "POST secrets", "POST jobs", "PATCH secrets m",
		}},
		"cluster applies": {naming.Cluster, naming.Apply, []string{
			"GET jobs", "GET leases lock", "GET secrets", "GET secrets tfstate",
			"POST leases", "POST leases", "GET leases",
			"GET jobs", "GET secrets state", "POST secrets", "POST jobs", "PATCH secrets c",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			f.object.id.Kind, f.kubelet.Object.Kind = tt.kind, tt.kind
			f.finish(f.start(), jobtest.Succeeded)
			f.object.desired = Desired{Op: tt.op, InputsHash: "h2:2"}
			m, client := newMortal(t, 1<<20, false)
			f.launcher = &Launcher{Clients: NewClients(client, f.object.id.Namespace)}
			f.start()
			if diff := cmp.Diff(tt.want, brieflyAll(m.Calls())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Without a state, two lists more tell whether there is a copy of a lost one.
func TestRequestsOfTheFirstApply(t *testing.T) {
	f := setUp(t)
	m, client := newMortal(t, 1<<20, false)
	f.launcher = &Launcher{Clients: NewClients(client, f.object.id.Namespace)}
	f.start()
	want := []string{
		"GET jobs", "GET leases lock", "GET secrets", "GET secrets tfstate",
		"GET secrets", "GET secrets", // backups, rescue sets
		"GET leases cluster", "POST leases", "GET leases cluster", "GET jobs", "POST secrets", "POST jobs", "PATCH secrets m",
	}
	if diff := cmp.Diff(want, brieflyAll(m.Calls())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// An object for which nothing is due costs this much a pass.
func TestRequestsOfAnIdlePass(t *testing.T) {
	f := setUp(t)
	f.finish(f.start(), jobtest.Succeeded)
	m, client := newMortal(t, 1<<20, false)
	f.launcher = &Launcher{Clients: NewClients(client, f.object.id.Namespace)}
	f.expect(Idle, ReasonDone)
	want := []string{"GET jobs", "GET leases lock", "GET secrets", "GET secrets tfstate"}
	if diff := cmp.Diff(want, brieflyAll(m.Calls())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

var call = regexp.MustCompile(`^(\S+) \S*/namespaces/[^/]+/(\w+)(?:/(?:captf-)?(\w+))?`)

func brieflyAll(calls []string) []string {
	var all []string
	for _, c := range calls {
		m := call.FindStringSubmatch(c)
		text := m[1] + " " + m[2]
		if m[3] != "" {
			text += " " + m[3]
		}
		all = append(all, text)
	}
	return all
}
