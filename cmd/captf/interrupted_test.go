package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
)

// The pod of an interrupted Job is mostly gone, so its log is not what to look at; and only a controller tries again.
func TestInterruptedJob(t *testing.T) {
	s := observed{programs: programs{captf: "captf"}, object: naming.Object{Kind: naming.Machine, Namespace: "n", Name: "worker-0"}}
	run := launch.Run{Name: "the-job", Finished: true, Outcome: &launch.Outcome{Verdict: launch.Interrupted}}
	for uid, want := range map[string]string{"": "launch it again", "uid-1": "it is tried again"} {
		run.Owner = corev1.ObjectReference{UID: types.UID(uid)}
		f := s.ended(run)
		if !strings.Contains(f.Text, want) || f.Next != "captf launch attach -n n the-job" {
			t.Errorf("owner %q: %q, next %q; want %q, and the command that shows the outcome", uid, f.Text, f.Next, want)
		}
	}
}
