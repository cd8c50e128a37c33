package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/captf/captf-runner/runner/result"
)

func TestConclude(t *testing.T) {
	const (
		success     = `{"version":1,"op":"apply","error":null}`
		partial     = `{"version":1,"op":"apply","error":null,"partial":true}`
		failed      = `{"version":1,"op":"apply","error":{"kind":"step","reason":"provider","step":"apply","tail":"no quota"}}`
		layout      = `{"version":1,"op":"apply","error":{"kind":"image-layout","step":"","tail":"no module"}}`
		blocked     = `{"version":1,"op":"apply","error":{"kind":"blocked","step":"plan","tail":"deletes a.b"}}`
		changed     = `{"version":1,"op":"apply","error":{"kind":"plan-changed","step":"plan","tail":"p2:0"}}`
		interrupted = `{"version":1,"op":"apply","error":{"kind":"interrupted","step":"apply","tail":"signal"}}`
		deadline    = `{"version":1,"op":"apply","error":{"kind":"interrupted","reason":"deadline","step":"apply","tail":"late"}}`
		unstarted   = `{"version":1,"op":"apply","error":{"kind":"interrupted","step":"","tail":"asked"}}`
		silent      = `{"version":1,"op":"apply","error":{"kind":"interrupted","reason":"deadline","step":"apply","tail":""}}`
		rescued     = `{"version":1,"op":"apply","error":{"kind":"step","reason":"state-write","step":"apply","tail":"no"},"state":{"saved":"rescued","where":"Secret a/b"}}`
		unsaved     = `{"version":1,"op":"apply","error":{"kind":"step","reason":"state-write","step":"apply","tail":"no"},"partial":true}`
		rescuing    = `{"version":1,"op":"apply","error":null,"partial":true,"state":{"saved":"lost","serial":7,"where":"/captf/work/root"}}`
		rescuedOnly = `{"version":1,"op":"apply","error":null,"partial":true,"state":{"saved":"rescued","serial":7,"where":"Secret a/b"}}`
		pushedOnly  = `{"version":1,"op":"apply","error":null,"partial":true,"state":{"saved":"pushed","serial":7}}`
		lost        = `{"version":1,"op":"apply","error":{"kind":"step","reason":"killed","step":"apply","tail":"killed"},"state":{"saved":"lost"},"unsaved":{"count":2,"resources":[{"address":"a.b","action":"create"},{"address":"a.c","action":"create"}]}}`
		lostUnnamed = `{"version":1,"op":"apply","error":{"kind":"step","reason":"killed","step":"apply","tail":"killed"},"state":{"saved":"lost"},"unsaved":{"count":2,"resources":[]}}`
		lostInPod   = `{"version":1,"op":"apply","error":{"kind":"step","reason":"state-write","step":"apply","tail":"no"},"state":{"saved":"lost","where":"/captf/work/root"}}`
		rescuedToo  = `{"version":1,"op":"apply","error":{"kind":"step","reason":"state-write","step":"apply","tail":"no"},"state":{"saved":"rescued","where":"Secret a/b"},"unsaved":{"count":1,"resources":[{"address":"a.b","action":"create"}]}}`
		failing     = `{"version":1,"op":"apply","error":{"kind":"step","reason":"provider","step":"apply","tail":"no quota"},"partial":true}`
		newerFields = `{"version":1,"op":"apply","error":null,"hats":3,"steps":[{"name":"init","exit":0,"seconds":1,"colour":"red"}],"lock":{"waitedSeconds":0,"forceUnlock":{"id":"x","outcome":"melted"}}}`
		newerReason = `{"version":1,"op":"apply","error":{"kind":"step","reason":"moon-phase","step":"apply","tail":"full"}}`
		newerSchema = `{"version":2,"op":"apply","error":"none"}`
	)
	tests := map[string]struct {
		evidence Evidence
		want     Outcome // without the result
		code     int
		counts   bool
	}{
		"success":                     {Evidence{Complete: true, Document: []byte(success)}, Outcome{Verdict: Succeeded}, 0, false},
		"success, its last word lost": {Evidence{Complete: true, Document: []byte(partial)}, Outcome{Verdict: Succeeded}, 0, false},
		"success, no result":          {Evidence{Complete: true}, Outcome{Verdict: Succeeded, Source: SourceConditions}, 0, false},
		"success, the Job failed":     {Evidence{Document: []byte(success), PodThere: true}, Outcome{Verdict: Succeeded}, 0, false},
		"killed after it failed":      {Evidence{Document: []byte(failing), PodThere: true, ExitCode: new(137)}, Outcome{Verdict: Failed, Reason: "provider", Message: "no quota"}, 1, true},
		"failed":                      {Evidence{Document: []byte(failed)}, Outcome{Verdict: Failed, Reason: "provider", Message: "no quota"}, 1, true},
		"failed in a pod":             {Evidence{Document: []byte(failed), Pod: "p", Source: SourcePod}, Outcome{Verdict: Failed, Reason: "provider", Message: "no quota", Pod: "p", Source: SourcePod}, 1, true},
		"failed in a drain":           {Evidence{Document: []byte(failed), Disrupted: true}, Outcome{Verdict: Failed, Reason: "provider", Message: "no quota"}, 1, true},
		"failed without a reason":     {Evidence{Document: []byte(layout)}, Outcome{Verdict: Failed, Reason: "image-layout", Message: "no module"}, 1, true},
		"complete, but it failed":     {Evidence{Complete: true, Document: []byte(failed)}, Outcome{Verdict: Failed, Reason: "provider", Message: "no quota"}, 1, true},
		"blocked":                     {Evidence{Document: []byte(blocked)}, Outcome{Verdict: Blocked, Reason: "blocked", Message: "deletes a.b"}, 4, false},
		"plan changed":                {Evidence{Document: []byte(changed)}, Outcome{Verdict: PlanChanged, Reason: "plan-changed", Message: "p2:0"}, 4, false},
		"interrupted":                 {Evidence{Document: []byte(interrupted)}, Outcome{Verdict: Interrupted, Message: "signal"}, 3, false},
		"interrupted by the deadline": {Evidence{Document: []byte(interrupted), Deadline: true}, Outcome{Verdict: Interrupted, Reason: "deadline", Message: "the deadline ended it in step apply: signal"}, 3, true},
		"the runner's own deadline":   {Evidence{Document: []byte(deadline)}, Outcome{Verdict: Interrupted, Reason: "deadline", Message: "the deadline ended it in step apply: late"}, 3, true},
		"deadline before a step":      {Evidence{Document: []byte(unstarted), Deadline: true}, Outcome{Verdict: Interrupted, Reason: "deadline", Message: "the deadline ended it before its first step: asked"}, 3, true},
		"deadline of a silent step":   {Evidence{Document: []byte(silent)}, Outcome{Verdict: Interrupted, Reason: "deadline", Message: "the deadline ended it in step apply"}, 3, true},
		"state rescued":               {Evidence{Document: []byte(rescued)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "the state is in Secret a/b: no"}, 4, false},
		"killed before the rescue":    {Evidence{Document: []byte(unsaved)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "no"}, 4, false},

		"out of memory":             {Evidence{Document: []byte(partial), PodThere: true, OOMKilled: true, ExitCode: new(137)}, Outcome{Verdict: Failed, Reason: ReasonOOMKilled, Message: "the container used more memory than its limit: raise the limit"}, 1, true},
		"out of memory, no result":  {Evidence{PodThere: true, OOMKilled: true, ExitCode: new(137)}, Outcome{Verdict: Failed, Reason: ReasonOOMKilled, Message: "the container used more memory than its limit: raise the limit", Source: SourceConditions}, 1, true},
		"out of memory in a rescue": {Evidence{Document: []byte(rescuing), PodThere: true, OOMKilled: true, ExitCode: new(137)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "the runner was killed while it rescued the state, which may be lost"}, 4, false},
		"pod deleted in a rescue":   {Evidence{Document: []byte(rescuing)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "the runner was killed while it rescued the state, which may be lost"}, 4, false},
		"killed after the rescue":   {Evidence{Document: []byte(rescuedOnly), PodThere: true, ExitCode: new(137)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "the state is in Secret a/b"}, 4, false},
		"evicted after the push":    {Evidence{Document: []byte(pushedOnly), PodThere: true, Disrupted: true}, Outcome{Verdict: Interrupted, Reason: ReasonDisruption}, 3, false},
		"node rebooted":             {Evidence{Document: []byte(partial), PodThere: true, NodeLost: true, ExitCode: new(255)}, Outcome{Verdict: Interrupted, Reason: ReasonNodeLost}, 3, false},
		"evicted":                   {Evidence{Document: []byte(partial), PodThere: true, Disrupted: true, ExitCode: new(137)}, Outcome{Verdict: Interrupted, Reason: ReasonDisruption}, 3, false},
		"killed":                    {Evidence{Document: []byte(partial), PodThere: true, ExitCode: new(137), Message: "137"}, Outcome{Verdict: Failed, Reason: ReasonKilled, Message: "137"}, 3, true},
		"deadline, no pod":          {Evidence{Deadline: true, Message: "late"}, Outcome{Verdict: Interrupted, Reason: "deadline", Message: "late", Source: SourceConditions}, 3, true},
		"evicted, no pod":           {Evidence{Disrupted: true}, Outcome{Verdict: Interrupted, Reason: ReasonDisruption, Source: SourceConditions}, 3, false},
		"pod deleted":               {Evidence{}, Outcome{Verdict: Interrupted, Reason: ReasonPodLost, Source: SourceConditions}, 3, false},
		"exit 1, no pod":            {Evidence{ExitCode: new(1)}, Outcome{Verdict: Failed, Reason: ReasonUnreadable, Message: result.ErrEmpty.Error(), Source: SourceConditions}, 1, true},
		"exit 0, the Job failed":    {Evidence{ExitCode: new(0)}, Outcome{Verdict: Failed, Reason: ReasonUnreadable, Message: result.ErrEmpty.Error(), Source: SourceConditions}, 1, true},
		"exit -1, the pod is there": {Evidence{ExitCode: new(-1), PodThere: true}, Outcome{Verdict: Failed, Reason: ReasonKilled, Source: SourceConditions}, 1, true},
		"exit 3, no pod":            {Evidence{ExitCode: new(3)}, Outcome{Verdict: Interrupted, Reason: ReasonUnreadable, Message: result.ErrEmpty.Error(), Source: SourceConditions}, 3, false},
		"exit 4, no pod":            {Evidence{ExitCode: new(4)}, Outcome{Verdict: StateUnsaved, Reason: ReasonUnreadable, Message: result.ErrEmpty.Error(), Source: SourceConditions}, 4, false},
		"newer fields":              {Evidence{Complete: true, Document: []byte(newerFields)}, Outcome{Verdict: Succeeded}, 0, false},
		"newer reason":              {Evidence{Document: []byte(newerReason)}, Outcome{Verdict: Failed, Reason: "moon-phase", Message: "full"}, 1, true},
		"newer schema":              {Evidence{Complete: true, Document: []byte(newerSchema)}, Outcome{Verdict: Succeeded, Source: SourceConditions}, 0, false},
		"newer schema, failed":      {Evidence{ExitCode: new(1), PodThere: true, Document: []byte(newerSchema)}, Outcome{Verdict: Failed, Reason: ReasonUnreadable, Message: (&result.VersionError{Version: 2}).Error(), Source: SourceConditions}, 1, true},
		"pod deleted, a list":       {Evidence{Changes: "j-changes"}, Outcome{Verdict: Interrupted, Reason: ReasonPodLost, Message: "what it was going to change is listed in the ConfigMap j-changes", Source: SourceConditions}, 3, false},
		"killed, a list":            {Evidence{Changes: "j-changes", PodThere: true, Message: "137"}, Outcome{Verdict: Failed, Reason: ReasonKilled, Message: "137; what it was going to change is listed in the ConfigMap j-changes", Source: SourceConditions}, 1, true},
		"lost, names had no room":   {Evidence{Document: []byte(lostUnnamed)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "killed"}, 4, false},
		"lost in the pod":           {Evidence{Document: []byte(lostInPod)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "the state is in /captf/work/root (gone with the pod, unless that is a volume): no"}, 4, false},
		"rescued, and what is new":  {Evidence{Document: []byte(rescuedToo)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "the state is in Secret a/b: no"}, 4, false},
		"lost, and what was made":   {Evidence{Document: []byte(lost)}, Outcome{Verdict: StateUnsaved, Reason: "state-write", Message: "2 resources may be in no state, such as a.b, import or delete them: killed"}, 4, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Conclude(tt.evidence)
			if code := got.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if got.Counts() != tt.counts {
				t.Errorf("counts: %v, want %v", got.Counts(), tt.counts)
			}
			again, err := decodeOutcome(encoded(t, got))
			if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("not the same after writing and reading it: %v\n%s", err, diff)
			}
			got.Result = nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func encoded(t *testing.T, o Outcome) string {
	t.Helper()
	text, err := o.encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What another version of this library wrote on a Job is read as far as it is known.
func TestDecodeOutcomeOfAnotherVersion(t *testing.T) {
	got, err := decodeOutcome(`{"verdict":"Melted","reason":"sun","hats":1,"source":"moon","result":{"version":2,"error":"x"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Outcome{Verdict: "Melted", Reason: "sun", Source: "moon"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := decodeOutcome("{"); err == nil {
		t.Error("half a document was read")
	}
}

// A document that holds too much is no reason to be unable to record the outcome: annotations have 256 KiB together.
func TestOutcomeIsBounded(t *testing.T) {
	huge := strings.Repeat("x", 1<<19)
	for name, document := range map[string]string{
		"tail":   fmt.Sprintf(`{"version":1,"error":{"kind":"step","tail":%q}}`, huge),
		"reason": fmt.Sprintf(`{"version":1,"error":{"kind":"step","reason":%q}}`, huge),
		"kind":   fmt.Sprintf(`{"version":1,"error":{"kind":%q}}`, huge),
		"where":  fmt.Sprintf(`{"version":1,"error":null,"state":{"saved":"rescued","where":%q}}`, huge),
		"op":     fmt.Sprintf(`{"version":1,"op":%q,"error":null}`, huge),
	} {
		text, err := Conclude(Evidence{Document: []byte(document), Source: SourceConfigMap}).encode()
		if err != nil || len(text) > 1<<14 {
			t.Errorf("%s: %d bytes, error %v", name, len(text), err)
		}
		if o, err := decodeOutcome(text); err != nil || o.Verdict == "" {
			t.Errorf("%s: read back as %+v, error %v", name, o, err)
		}
	}
}
