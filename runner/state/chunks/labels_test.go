package chunks_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// TestChangedLabels has a state whose labels somebody changed: a Terraform that finds its chunks by all of them would
// find none and begin with an empty state. The guard names the label before anything is launched. Once the state is
// adopted it is found again, the same one, and both runtimes go on with it. cases.md 34, 35.
func TestChangedLabels(t *testing.T) {
	type changed struct {
		change   func(labels map[string]string)
		label    string // that the guard names
		readable bool   // the library still finds it
		relabel  bool   // a label has another value, so a person has to say that it may go
	}
	tests := map[string]changed{
		"owner renamed": {
			change: func(l map[string]string) { l[naming.LabelOwnerName] = "worker-1" },
			label:  naming.LabelOwnerName, readable: true, relabel: true,
		},
		"empty label gone": {change: func(l map[string]string) { delete(l, naming.LabelMove) }, label: naming.LabelMove, readable: true},
		"other suffix": {
			change: func(l map[string]string) { l[naming.LabelStateSuffix] = "other" },
			label:  naming.LabelStateSuffix, relabel: true,
		},
		"tfstate labels gone": {
			change: func(l map[string]string) {
				maps.DeleteFunc(l, func(key, _ string) bool { return strings.HasPrefix(key, "tfstate") })
			},
			label: naming.LabelState,
		},
		"no label left": {change: func(l map[string]string) { clear(l) }, label: naming.LabelManagedBy},
	}
	eachRuntime(t, func(t *testing.T, c cluster, runtime tools.Runtime) {
		m := c.Apply(t, runtime, oneResource)
		pulled := m.Must(t, "state", "pull")
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				c.Change(t, 0, func(s *corev1.Secret) { tt.change(s.Labels) })
				before := c.Secret(t, 0)
				c.wantSelected(t, 0)
				c.wantRefused(t, tt.label, tt.readable)
				c.adoptLabelled(t, tt.label, tt.relabel)
				c.wantSelected(t, 1)
				if after := c.Secret(t, 0); after.UID != before.UID || !cmp.Equal(after.Data, before.Data) {
					t.Error("the Secret was made anew")
				}
				if diff := cmp.Diff(pulled, m.Must(t, "state", "pull")); diff != "" {
					t.Errorf("the state (-before +after):\n%s", diff)
				}
			})
		}
		if plan := m.Must(t, "plan", "-input=false", "-no-color"); !strings.Contains(plan, "No changes") {
			t.Errorf("a plan afterwards wants changes:\n%s", plan)
		}
	})
}

// wantRefused wants the guard to name the label, and so the reader where the state is hidden from it.
func (c cluster) wantRefused(t *testing.T, label string, readable bool) {
	t.Helper()
	set, base := c.gather(t), naming.StateSecret(c.Suffix, 0)
	wantLabel(t, set.CheckLabels(), base, label)
	if _, err := set.Read(true); !readable {
		wantLabel(t, err, base, label)
	} else if err != nil {
		t.Error(err)
	}
}

// adoptLabelled adopts the state, which sets labels that are missing, and others if it is told to.
func (c cluster) adoptLabelled(t *testing.T, label string, relabel bool) {
	t.Helper()
	want := chunks.Adoption{Owner: owner("1")}
	if relabel {
		_, err := c.api.Adopt(t.Context(), c.gather(t), want)
		wantLabel(t, err, naming.StateSecret(c.Suffix, 0), label)
		want.Relabel = true
	}
	if _, err := c.api.Adopt(t.Context(), c.gather(t), want); err != nil {
		t.Fatal(err)
	}
	if err := c.gather(t).CheckLabels(); err != nil {
		t.Error(err)
	}
}

// wantSelected counts the chunks that a Terraform finds that selects by all labels.
func (c cluster) wantSelected(t *testing.T, want int) {
	t.Helper()
	own, err := naming.Labels(c.Object)
	if err != nil {
		t.Fatal(err)
	}
	selector := labels.SelectorFromSet(naming.BackendSelector(c.Suffix, own)).String()
	list, err := c.Secrets.List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != want {
		t.Fatalf("a selector of all labels finds %d Secrets, want %d", len(list.Items), want)
	}
}

func wantLabel(t *testing.T, err error, secret, label string) {
	t.Helper()
	wantReason(t, err, state.Mislabelled, secret)
	if err == nil || !strings.Contains(err.Error(), label) {
		t.Errorf("error %v does not name label %s", err, label)
	}
}

// TestHiddenPart has a part of a chunked state that lost its labels: what is left is not mistaken for the state.
func TestHiddenPart(t *testing.T) {
	doc := statetest.State(t, terraform(t), oneResource)
	for part, name := range []string{"base", "middle", "last"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.putSplit(t, doc, 3)
			c.Change(t, part, func(s *corev1.Secret) { delete(s.Labels, naming.LabelStateSuffix) })
			set := c.gather(t)
			_, err := set.Read(true)
			wantLabel(t, err, naming.StateSecret(c.Suffix, part), naming.LabelStateSuffix)
			if _, err := c.api.Adopt(t.Context(), set, chunks.Adoption{Owner: owner("1")}); err != nil {
				t.Fatal(err)
			}
			sum, err := c.gather(t).Read(true)
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, sum, string(doc))
		})
	}
}
