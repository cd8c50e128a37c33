package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/naming"
)

// maxPasses is more than a whole run takes.
const maxPasses = 100

// A launcher is killed before each request, and after each write whose answer it then does not get. Another one goes
// on, and it always ends in the same place: one Job, booked once, everything around it done once. The Job inherits a
// stale lock, so that the event about it is among the things that must not be lost.
func TestKilledBetweenAnyTwoRequests(t *testing.T) {
	namespace := kubetest.Shared(t).Namespace(t)
	calls := killAfter(t, namespace, 1<<20, false) // it outlives the run
	t.Logf("a run takes %d requests", len(calls))
	for n, call := range calls {
		for _, mute := range []bool{false, true} {
			if mute && strings.HasPrefix(call, "GET ") {
				continue // an answer that is lost is like a request that was not made
			}
			t.Run(fmt.Sprintf("%d %s mute=%v", n, strings.Fields(call)[0], mute), func(t *testing.T) {
				t.Parallel()
				lives := n
				if mute {
					lives++
				}
				killAfter(t, namespace, lives, mute)
			})
		}
	}
}

// killAfter lets one launcher live for so many requests, has another one finish, and returns what the first one asked.
func killAfter(t *testing.T, namespace string, lives int, mute bool) []string {
	t.Helper()
	client := kubetest.Shared(t).Clientset()
	f := newFixture(t, client, namespace, fmt.Sprintf("w-%d-%v", lives, mute))
	f.leaveStaleLock()
	m, dying := newMortal(t, lives, mute)
	booked := f.live(&Launcher{Clients: NewClients(dying, namespace)}, m)
	booked += f.live(&Launcher{Clients: NewClients(client, namespace)}, nil)
	f.wantOneRun(mute, booked)
	if t.Failed() {
		t.Logf("killed after %v", m.Calls())
	}
	return m.Calls()
}

// leaveStaleLock has an earlier Job's pod leave its lock. Nothing is known of that Job any more.
func (f *fixture) leaveStaleLock() {
	f.Helper()
	if err := f.kubelet.WriteState(f.Context(), 1, ""); err != nil {
		f.Fatal(err)
	}
	f.own()
	name, err := naming.JobName(f.object.id, naming.Apply, 1, "h2:0", "")
	if err != nil {
		f.Fatal(err)
	}
	if err := f.kubelet.Lock(f.Context(), "id-1", "root@"+name+"-abcde"); err != nil {
		f.Fatal(err)
	}
}

// own makes the object the owner of its state.
func (f *fixture) own() {
	f.Helper()
	secrets := f.client.CoreV1().Secrets(f.object.id.Namespace)
	base, err := secrets.Get(f.Context(), naming.StateSecret(naming.Suffix(f.object.id), 0), metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	ref := f.object.Reference()
	base.OwnerReferences = []metav1.OwnerReference{{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}}
	if _, err := secrets.Update(f.Context(), base, metav1.UpdateOptions{}); err != nil {
		f.Fatal(err)
	}
}

// live has a launcher make passes until nothing is due, or it is dead, and plays the kubelet meanwhile. It returns how
// many runs it said that it booked.
func (f *fixture) live(l *Launcher, m *kubetest.Mortal) (booked int) {
	f.Helper()
	for range maxPasses {
		r, err := l.Pass(f.Context(), f.object)
		booked += len(r.Booked)
		switch {
		case m != nil && m.Dead():
			return booked
		case err != nil:
			f.Errorf("pass: %v", err)
			return booked
		case r.Decision.Action == Idle:
			return booked
		}
		f.endJobs()
	}
	f.Error("the passes come to no end")
	return booked
}

// endJobs has every Job end that has not.
func (f *fixture) endJobs() {
	f.Helper()
	done := jobtest.Succeeded
	done.Serial = 2
	for _, r := range f.jobs() {
		if r.Finished {
			continue
		}
		if err := f.kubelet.Run(f.Context(), r.Name, done); err != nil {
			f.Error(err)
		}
	}
}

// wantOneRun is what a life comes to, whoever died in it. A launcher that does not get the answer to its last request
// cannot say that it booked; the Job can.
func (f *fixture) wantOneRun(mute bool, booked int) {
	f.Helper()
	if booked > 1 || booked == 0 && !mute {
		f.Errorf("%d launchers say that they booked the run, want 1", booked)
	}
	runs := f.jobs()
	if len(runs) != 1 || !runs[0].Booked || runs[0].verdict() != Succeeded || runs[0].ForceUnlock != "id-1" {
		f.Errorf("runs: %+v", runs)
	}
	events := f.events()
	events["StateBackedUp"] = max(events["StateBackedUp"], 2) // the event about the copy before the apply is not worth a request in every start
	if diff := cmp.Diff(map[string]int{"JobSucceeded": 1, "ForceUnlocked": 1, "StateBackedUp": 2}, events); diff != "" {
		f.Errorf("events (-want +got)\n%s", diff)
	}
	owner := naming.LabelOwnerName + "=" + f.object.id.Name
	if got := f.secrets(owner + "," + LabelConfig); len(got) > 0 {
		f.Errorf("config secrets are left: %v", got)
	}
	if got := f.secrets(owner + "," + naming.LabelBackup); len(got) != 2 { // before the apply, and after it
		f.Errorf("backups %v, want 2", got)
	}
	if got := f.leases(owner + ",captf.io/lease"); len(got) > 0 {
		f.Errorf("leases are left: %v", got)
	}
	f.wantAdopted()
}

func (f *fixture) wantAdopted() {
	f.Helper()
	base, err := f.client.CoreV1().Secrets(f.object.id.Namespace).Get(f.Context(), naming.StateSecret(naming.Suffix(f.object.id), 0), metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	if len(base.OwnerReferences) != 1 || base.OwnerReferences[0].UID != f.object.uid || base.Annotations["captf.io/inputs-hash"] != "h2:1" {
		f.Errorf("the state has owners %v, annotations %v", base.OwnerReferences, base.Annotations)
	}
}
