package rbac

import (
	"testing"

	"github.com/captf/captf-runner/internal/kubetest"
)

// passProofs say, for each right of captf-launch, what a controller cannot do without it.
var passProofs = map[string]func(c *controller, t *testing.T) bool{
	"get jobs":       (*controller).takesOver,
	"list jobs":      (*controller).applies,
	"create jobs":    (*controller).applies,
	"patch jobs":     (*controller).applies,
	"delete jobs":    (*controller).prunes,
	"get pods":       (*controller).inherits,
	"list pods":      (*controller).applies,
	"get secrets":    (*controller).applies,
	"list secrets":   (*controller).applies,
	"create secrets": (*controller).applies,
	"update secrets": (*controller).rewrites,
	"patch secrets":  (*controller).applies,
	"delete secrets": (*controller).applies,
	"get configmaps": (*controller).learns,
	"get leases":     (*controller).applies,
	"list leases":    (*controller).applies,
	"create leases":  (*controller).applies,
	"update leases":  (*controller).takesOver,
	"patch leases":   (*controller).applies,
	"delete leases":  (*controller).applies,
	"create events":  (*controller).tells,
}

// followProofs are those of captf-launch-follow, for a person.
var followProofs = map[string]func(p *person, t *testing.T) bool{
	"delete pods":  (*person).stops,
	"get pods/log": (*person).reads,
	"list events":  (*person).isWarned,
}

// TestEveryRightToLaunchIsNeeded takes each right of a controller away, alone: what it is for does not work any more.
// With all of them it works, and nothing else is granted.
func TestEveryRightToLaunchIsNeeded(t *testing.T) {
	all := rights(kubetest.ManifestRules(t, "launch.yaml")["captf-launch"])
	prove(t, all, passProofs, func(t *testing.T, granted []right) *controller { return newController(t, granted) })
}

// TestEveryRightToFollowIsNeeded does the same for what a person's terminal needs besides.
func TestEveryRightToFollowIsNeeded(t *testing.T) {
	roles := kubetest.ManifestRules(t, "launch.yaml")
	pass := rights(roles["captf-launch"])
	prove(t, rights(roles["captf-launch-follow"]), followProofs, func(t *testing.T, granted []right) *person {
		return newPerson(t, append(granted, pass...))
	})
}

// prove wants one proof for each right: something that works with all, and not without that one.
func prove[T any](t *testing.T, all []right, proofs map[string]func(T, *testing.T) bool, actor func(*testing.T, []right) T) {
	if len(all) != len(proofs) {
		t.Errorf("%d rights in the role, %d proofs", len(all), len(proofs))
	}
	for _, r := range all {
		proof := proofs[r.String()]
		if proof == nil {
			t.Errorf("no proof that the right to %s is needed", r)
			continue
		}
		for _, c := range []struct {
			name    string
			granted []right
			works   bool
		}{{"with", all, true}, {"without", without(all, r), false}} {
			t.Run(c.name+" "+r.String(), func(t *testing.T) {
				t.Parallel()
				if got := proof(actor(t, c.granted), t); got != c.works {
					t.Errorf("it works: %v, want %v", got, c.works)
				}
			})
		}
	}
}
