package main

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// Only a controller tries an interrupted Job again. Its pod is mostly gone, so its log is not what to look at.
func TestInterruptedJob(t *testing.T) {
	s := observed{programs: programs{captf: "captf", kubectl: "kubectl --context=c"}, object: naming.Object{Kind: naming.Machine, Namespace: "n", Name: "worker-0"}}
	const launchIt, attach, events = "captf launch apply tm/worker-0 -n n --image IMAGE -f ROOT", "captf launch attach -n n the-job", "kubectl --context=c get events -n n"
	res := &result.Result{Version: result.Version, Op: "apply"}
	for name, tt := range map[string]struct {
		op         naming.Op
		owner      types.UID
		outcome    launch.Outcome
		text, next string
	}{
		"by hand":       {naming.Apply, "", launch.Outcome{Result: res}, "launch it again", launchIt + " (what happened: " + attach + ")"},
		"by controller": {naming.Apply, "uid-1", launch.Outcome{Result: res}, "it is tried again", attach},
		"not begun":     {naming.Apply, "", launch.Outcome{Untouched: true}, "it had not begun: see what kept it, and launch it again", "look first: " + events},
		"a restore":     {naming.Restore, "", launch.Outcome{Result: res}, "launch it again", "captf launch restore tm/worker-0 -n n --image IMAGE -f ROOT --backup NAME"},
	} {
		tt.outcome.Verdict = launch.Interrupted
		run := launch.Run{Name: "the-job", Job: naming.Job{Op: tt.op}, Finished: true, Outcome: &tt.outcome, Owner: corev1.ObjectReference{UID: tt.owner}}
		if f := s.ended(run); !strings.Contains(f.Text, tt.text) || !strings.HasPrefix(f.Next, tt.next) {
			t.Errorf("%s: %q, next %q; want %q, next %q", name, f.Text, f.Next, tt.text, tt.next)
		}
	}
}

// A state that was only in the folder of an ended pod is in no rescue set: the doctor says what tells what was in it.
func TestLostState(t *testing.T) {
	s := observed{programs: programs{captf: "captf"}, object: naming.Object{Kind: naming.Machine, Namespace: "n", Name: "worker-0"}}
	document, err := json.Marshal(result.Result{
		Version: result.Version, Op: "apply",
		Error: &result.Error{Kind: result.KindStep, Reason: result.ReasonStateWrite, Step: "apply", Tail: "forbidden"},
		State: &result.State{Saved: result.SavedLost, Where: "/captf/work/x.tfstate"},
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome := launch.Conclude(launch.Evidence{Document: document, Pod: "the-pod", PodThere: true, Source: launch.SourcePod})
	f := s.ended(launch.Run{Name: "the-job", Finished: true, Outcome: &outcome})
	if f.Level != problem || !strings.Contains(f.Text, "x.tfstate (gone with the pod, unless that is a volume): forbidden") || f.Next != "captf launch attach -n n the-job" {
		t.Errorf("%s %q, next %q", f.Level, f.Text, f.Next)
	}
}
