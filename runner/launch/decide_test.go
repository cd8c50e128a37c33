package launch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
)

var (
	now    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	worker = naming.Object{Kind: naming.Machine, Namespace: "infra", Name: "worker", Cluster: "prod"}
)

// observed is an object whose state was made from hash old, and that wants to apply hash new.
func observed(change ...func(*Observed)) Observed {
	o := Observed{
		Now: now, Object: worker,
		Desired:  Desired{Op: naming.Apply, InputsHash: "new"},
		Template: Template{Image: "module", RunnerImage: "runner"},
		Lock:     &lock.Finding{Verdict: lock.Free, Lock: lock.Lock{ResourceVersion: "7"}},
		State:    StateView{Summary: &state.Summary{InputsHash: "old", Resources: 3, Chunks: 1}},
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

// ran adds a booked run of what is desired, which ended so long before now.
func ran(v Verdict, reason string, ago time.Duration) func(*Observed) {
	return func(o *Observed) {
		o.Runs = append(o.Runs, run(o, &Outcome{Verdict: v, Reason: reason, Message: "said so"}, ago))
	}
}

func run(o *Observed, outcome *Outcome, ago time.Duration) Run {
	attempt := o.attempt()
	name, err := naming.JobName(o.Object, o.Desired.Op, attempt, o.Desired.InputsHash, o.Desired.Tick)
	if err != nil {
		panic(err)
	}
	return Run{
		Name: name, Job: naming.Job{Op: o.Desired.Op, Attempt: attempt}, InputsHash: o.Desired.InputsHash, Tick: o.Desired.Tick,
		StateVersion: o.State.Version, Approval: o.Desired.Approval.mark(), Finished: true, FinishedAt: o.Now.Add(-ago), Booked: outcome != nil, Outcome: outcome,
	}
}

// wants changes what is desired, for the runs that follow and for the decision.
func wants(change func(*Desired)) func(*Observed) { return func(o *Observed) { change(&o.Desired) } }

func op(op naming.Op) func(*Observed) { return wants(func(d *Desired) { d.Op = op }) }

func carries(hash string) func(*Observed) {
	return func(o *Observed) { o.State.Summary.InputsHash = hash }
}

func noState(reason state.Reason) func(*Observed) {
	return func(o *Observed) {
		o.State = StateView{Err: &state.Error{Reason: reason, Err: errors.New("it says")}}
	}
}

// version tells the bytes of the state apart, when a run that follows is created and at last.
func version(v string) func(*Observed) { return func(o *Observed) { o.State.Version = v } }

func locked(v lock.Verdict) func(*Observed) {
	return func(o *Observed) {
		o.Lock = &lock.Finding{Verdict: v, Lock: lock.Lock{Holder: "id-1", Info: lock.Info{ID: "id-1", Who: "me@laptop"}, ResourceVersion: "8"}}
	}
}

// savedIn says where the last run left the state that it could not save.
func savedIn(where string) func(*Observed) {
	return func(o *Observed) {
		o.Runs[len(o.Runs)-1].Outcome.Result = &result.Result{State: &result.State{Saved: result.SavedRescued, Where: where}}
	}
}

func pods(pods ...Pod) func(*Observed) {
	return func(o *Observed) { o.Runs[len(o.Runs)-1].Pods = pods }
}

func active(o *Observed) {
	r := run(o, nil, 0)
	r.Finished = false
	r.Pods = []Pod{{Name: "p", Waiting: "ImagePullBackOff", Message: "no such image"}}
	o.Runs = append(o.Runs, r)
}

func finished(o *Observed) { o.Runs = append(o.Runs, run(o, nil, 0)) }

func podEnding(o *Observed) { o.Runs[len(o.Runs)-1].Pods = []Pod{{Name: "p"}} }

func ownerless(o *Observed) { o.Ownerless = true }

func paused(o *Observed) { o.Desired.Paused = true }

func TestDecide(t *testing.T) {
	tests := map[string]struct {
		observed Observed
		want     string // action, reason, and what else matters
		says     string // part of the message, of which $ is the end
	}{
		"due":                          {observed(), "Start OperationDue a1", "apply is due"},
		"done":                         {observed(carries("new")), "Idle Done", "apply is done"},
		"due without a hash":           {observed(wants(func(d *Desired) { d.InputsHash, d.Tick = "", "1" }), carries("")), "Start OperationDue a1", ""},
		"done without a hash":          {observed(wants(func(d *Desired) { d.InputsHash, d.Tick = "", "1" }), ran(Succeeded, "", 0)), "Idle Done", ""},
		"another tick":                 {observed(carries("new"), ran(Succeeded, "", 0), wants(func(d *Desired) { d.Tick = "2" })), "Start OperationDue a2", ""},
		"the same tick":                {observed(carries("new"), wants(func(d *Desired) { d.Tick = "2" }), ran(Succeeded, "", 0)), "Idle Done", ""},
		"state went back":              {observed(ran(Succeeded, "", 0)), "Start OperationDue a2", ""},
		"done, nobody can note it":     {observed(ran(Succeeded, "", 0), ownerless), "Idle Done", ""},
		"nobody noted, failed since":   {observed(ran(Succeeded, "", time.Hour), ran(Failed, "", time.Hour), ownerless), "Start OperationDue a3", ""},
		"nobody noted, other inputs":   {observed(ran(Succeeded, "", 0), ownerless, wants(func(d *Desired) { d.InputsHash = "newer" })), "Start OperationDue a2", ""},
		"nobody noted, lost":           {observed(ran(Succeeded, "", 0), ownerless, noState(state.NotFound)), "Refuse StateLost", ""},
		"nobody can note it, no job":   {observed(ownerless), "Start OperationDue a1", ""},
		"planned before the first":     {observed(noState(state.NotFound), op(naming.Plan), ran(Succeeded, "", 0), op(naming.Apply)), "Start OperationDue a1", ""},
		"nothing desired":              {observed(op("")), "Idle NothingDesired", ""},
		"drift once a tick":            {observed(op(naming.Drift), wants(func(d *Desired) { d.Tick = "mon" }), ran(Succeeded, "", 0)), "Idle Done", ""},
		"drift failed this tick":       {observed(op(naming.Drift), wants(func(d *Desired) { d.Tick = "mon" }), ran(Failed, "", time.Hour)), "Start OperationDue a2", ""},
		"drift done, failed since":     {observed(op(naming.Drift), wants(func(d *Desired) { d.Tick = "mon" }), ran(Succeeded, "", time.Hour), ran(Failed, "", time.Hour)), "Idle Done", ""},
		"drift of the next tick":       {observed(op(naming.Drift), ran(Succeeded, "", 0), wants(func(d *Desired) { d.Tick = "tue" })), "Start OperationDue a2", ""},
		"first apply":                  {observed(noState(state.NotFound)), "Start OperationDue a1", ""},
		"encrypted state":              {observed(noState(state.Encrypted)), "Start OperationDue a1", ""},
		"interrupted":                  {observed(ran(Interrupted, ReasonDisruption, 0)), "Start OperationDue a2", ""},
		"finished job first":           {observed(finished), "Book JobFinished", "-apply-a1-"},
		"finished job though paused":   {observed(finished, paused), "Book JobFinished", ""},
		"finished job, bad template":   {observed(finished, func(o *Observed) { o.Template.Image = "" }), "Book JobFinished", ""},
		"its pod still runs":           {observed(finished, podEnding), "Follow PodStillRuns 5s", "is still ending"},
		"active job":                   {observed(active), "Follow JobRunning 30s", "pod p waits: ImagePullBackOff no such image"},
		"active job at work":           {observed(active, pods(Pod{Name: "p"})), "Follow JobRunning 30s", "-apply-a1-7c3735 runs$"},
		"active job without a pod":     {observed(active, pods()), "Follow JobRunning 30s", " has no pod yet$"},
		"active job of other inputs":   {observed(active, wants(func(d *Desired) { d.InputsHash = "newer" })), "Follow JobRunning 30s", ""},
		"active job before a destroy":  {observed(active, op(naming.Destroy)), "Follow JobRunning 30s", ""},
		"finished beside an active":    {observed(active, finished), "Book JobFinished", "-apply-a2-"},
		"paused":                       {observed(paused), "Idle Paused", "is paused"},
		"orphaned chunks":              {observed(func(o *Observed) { o.State.Orphaned = true }), "Repair StateHasNoOwner", "have no owner"},
		"orphaned chunks while paused": {observed(paused, func(o *Observed) { o.State.Orphaned = true }), "Idle Paused", ""},
		"orphaned chunks, job active":  {observed(active, func(o *Observed) { o.State.Orphaned = true }), "Follow JobRunning 30s", ""},

		"lost though applied":          {observed(noState(state.NotFound), wants(func(d *Desired) { d.Applied = true })), "Refuse StateLost", "it says"},
		"lost though a job did":        {observed(noState(state.NotFound), ran(Succeeded, "", 0)), "Refuse StateLost", ""},
		"lost before a job failed":     {observed(noState(state.NotFound), ran(Succeeded, "", time.Hour), ran(Failed, "config", time.Hour)), "Refuse StateLost", ""},
		"lost before a destroy":        {observed(noState(state.NotFound), ran(Succeeded, "", time.Hour), op(naming.Destroy), ran(Failed, "", time.Hour)), "Refuse StateLost", ""},
		"not lost, the job failed":     {observed(noState(state.NotFound), ran(Failed, "config", time.Hour)), "Start OperationDue a2", ""},
		"corrupt":                      {observed(noState(state.Corrupt)), "Refuse StateCorrupt", "it says"},
		"never filled":                 {observed(noState(state.Inconsistent), func(o *Observed) { o.State.Unfilled = true }), "Start OperationDue a1", ""},
		"emptied":                      {observed(noState(state.Inconsistent), func(o *Observed) { o.State.Unfilled = true }, wants(func(d *Desired) { d.Applied = true })), "Refuse StateInconsistent", "it says"},
		"inconsistent":                 {observed(noState(state.Inconsistent)), "Refuse StateInconsistent", "it says"},
		"corrupt, restore":             {observed(noState(state.Corrupt), op(naming.Restore)), "Start OperationDue a1", ""},
		"restore of what is not there": {observed(op(naming.Restore), func(o *Observed) { o.Copy = CopyView{Reason: ReasonCopyNotFound, Err: errors.New("no copy")} }), "Refuse BackupNotFound", "no copy"},
		"mislabelled, restore":         {observed(noState(state.Mislabelled), op(naming.Restore)), "Refuse StateMislabelled", "it says"},
		"no image":                     {observed(func(o *Observed) { o.Template.Image = "" }), "Refuse InvalidTemplate", "image is missing"},
		"lock timeout over deadline":   {observed(func(o *Observed) { o.Template.Deadline = 300 * time.Second }), "Refuse InvalidTemplate", "lockTimeoutSeconds 300 is not below activeDeadlineSeconds 300"},
		"chunks and tofu":              {observed(func(o *Observed) { o.Template.Runtime, o.State.Summary.Chunks = RuntimeTofu, 2 }), "Refuse ChunkedStateNeedsTerraform", "is in 2 Secrets, which OpenTofu cannot read"},
		"one chunk and tofu":           {observed(func(o *Observed) { o.Template.Runtime = RuntimeTofu }), "Start OperationDue a1", ""},
		"no state and tofu":            {observed(noState(state.NotFound), func(o *Observed) { o.Template.Runtime = RuntimeTofu }), "Start OperationDue a1", ""},
		"chunks and terraform":         {observed(func(o *Observed) { o.Template.Runtime, o.State.Summary.Chunks = RuntimeTerraform, 2 }), "Start OperationDue a1", ""},
		"blocked":                      {observed(ran(Blocked, "blocked", time.Hour)), "Refuse ApprovalNeeded", "said so"},
		"blocked, then allowed":        {observed(ran(Blocked, "blocked", 0), wants(func(d *Desired) { d.Approval.AllowDeletesHash = "new" })), "Start OperationDue a2", ""},
		"blocked, then other inputs":   {observed(ran(Blocked, "blocked", 0), wants(func(d *Desired) { d.InputsHash = "newer" })), "Start OperationDue a2", ""},
		"plan changed":                 {observed(ran(PlanChanged, "plan-changed", time.Hour)), "Refuse ApprovalNeeded", ""},
		"unsaved state":                {observed(ran(StateUnsaved, "state-write", time.Hour)), "Refuse StateUnsaved", "said so"},
		"unsaved state, somewhere":     {observed(ran(StateUnsaved, "state-write", time.Hour), savedIn("Secret a/b")), "Refuse StateUnsaved", "it is in Secret a/b"},
		"unsaved state, nowhere":       {observed(ran(StateUnsaved, "state-write", time.Hour), savedIn("")), "Refuse StateUnsaved", "said so"},
		"unsaved state, no word of it": {observed(ran(StateUnsaved, "state-write", time.Hour), savedIn(""), func(o *Observed) { o.Runs[0].Outcome.Result.State = nil }), "Refuse StateUnsaved", "said so"},
		"unsaved state, any op":        {observed(ran(StateUnsaved, "state-write", time.Hour), op(naming.Drift)), "Refuse StateUnsaved", ""},
		"unsaved state, plan":          {observed(ran(StateUnsaved, "state-write", time.Hour), op(naming.Plan)), "Start OperationDue a1", ""},
		"unsaved state, restored":      {observed(ran(StateUnsaved, "state-write", time.Hour), op(naming.Restore), ran(Succeeded, "", 0), op(naming.Apply)), "Start OperationDue a2", ""},

		"failed just now":        {observed(ran(Failed, "config", 10*time.Second)), "Wait BackingOff 50s", "failed 1 times: next attempt in 50s"},
		"failed a while ago":     {observed(ran(Failed, "config", time.Minute)), "Start OperationDue a2", ""},
		"failed, other inputs":   {observed(ran(Failed, "config", 0), wants(func(d *Desired) { d.InputsHash = "newer" })), "Start OperationDue a2", ""},
		"failed thrice":          {observed(ran(Failed, "", time.Hour), ran(Failed, "", time.Hour), ran(Failed, "", 0)), "Wait BackingOff 4m0s", ""},
		"interrupted in between": {observed(ran(Failed, "", time.Hour), ran(Interrupted, "", time.Hour), ran(Failed, "", 0)), "Wait BackingOff 2m0s", ""},
		"success ends the count": {observed(ran(Failed, "", time.Hour), ran(Succeeded, "", time.Hour), ran(Failed, "", 0)), "Wait BackingOff 1m0s", ""},
		"deadline counts":        {observed(ran(Interrupted, string(result.ReasonDeadline), 0)), "Wait BackingOff 1m0s", ""},
		"once, failed":           {observed(ran(Failed, "config", time.Hour), wants(func(d *Desired) { d.Once = true })), "Idle Done", ""},
		"once, not yet":          {observed(wants(func(d *Desired) { d.Once = true })), "Start OperationDue a1", ""},

		"stale lock":                 {observed(locked(lock.Stale)), "Start OperationDue a1 unlock id-1", ""},
		"living lock":                {observed(locked(lock.Alive)), "Wait StateLockedByOwnPod 15s", "me@laptop"},
		"foreign lock":               {observed(locked(lock.Foreign)), "Start OperationDue a1", ""},
		"foreign lock, wait":         {observed(locked(lock.Foreign), func(o *Observed) { o.WaitForForeignLock = true }), "Wait StateLocked 15s", "me@laptop"},
		"foreign lock, destroy":      {observed(locked(lock.Foreign), op(naming.Destroy)), "Start OperationDue a1", ""},
		"foreign lock, nothing due":  {observed(locked(lock.Foreign), carries("new")), "Idle Done", ""},
		"stale lock, still a person": {observed(locked(lock.Stale), ran(Blocked, "blocked", 0)), "Refuse ApprovalNeeded", ""},

		"destroy":                        {observed(op(naming.Destroy)), "Start OperationDue a1", ""},
		"destroy, nothing there":         {observed(op(naming.Destroy), noState(state.NotFound)), "Cleanup Destroyed", "nothing is left to destroy"},
		"destroy, lost":                  {observed(op(naming.Destroy), noState(state.NotFound), wants(func(d *Desired) { d.Applied = true })), "Refuse StateLost", ""},
		"destroyed":                      {observed(op(naming.Destroy), ran(Succeeded, "", 0), func(o *Observed) { o.State.Summary.Resources = 0 }), "Cleanup Destroyed", ""},
		"destroyed, planned since":       {observed(op(naming.Destroy), ran(Succeeded, "", 0), op(naming.Plan), ran(Succeeded, "", 0), op(naming.Destroy), func(o *Observed) { o.State.Summary.Resources = 0 }), "Cleanup Destroyed", ""},
		"destroyed, lost with it":        {observed(op(naming.Destroy), ran(Succeeded, "", 0), noState(state.Lost)), "Cleanup Destroyed", ""},
		"destroyed, lost, chunks left":   {observed(op(naming.Destroy), ran(Succeeded, "", 0), noState(state.Lost), version("a")), "Refuse StateLost", ""},
		"lost before the first destroy":  {observed(ran(Succeeded, "", time.Hour), op(naming.Destroy), noState(state.NotFound)), "Refuse StateLost", ""},
		"applied to nothing":             {observed(ran(Succeeded, "", time.Hour), op(naming.Destroy), func(o *Observed) { o.State.Summary.Resources = 0 }), "Start OperationDue a1", ""},
		"destroy once, not yet":          {observed(op(naming.Destroy), wants(func(d *Desired) { d.Once = true })), "Start OperationDue a1", ""},
		"destroy failed, corrupt, once":  {observed(op(naming.Destroy), ran(Failed, "", time.Hour), noState(state.Corrupt), wants(func(d *Desired) { d.Once = true })), "Idle Done", ""},
		"destroyed and cleaned":          {observed(op(naming.Destroy), ran(Succeeded, "", 0), noState(state.NotFound), wants(func(d *Desired) { d.Applied = true })), "Cleanup Destroyed", ""},
		"destroyed, something came back": {observed(op(naming.Destroy), ran(Succeeded, "", 0)), "Start OperationDue a2", ""},
		"destroyed, corrupt, once":       {observed(op(naming.Destroy), wants(func(d *Desired) { d.Once = true }), ran(Succeeded, "", 0), noState(state.Corrupt)), "Refuse StateCorrupt", ""},
		"destroyed, came back, once":     {observed(op(naming.Destroy), wants(func(d *Desired) { d.Once = true }), ran(Succeeded, "", 0)), "Idle Done", ""},
		"destroyed, corrupt since":       {observed(op(naming.Destroy), ran(Succeeded, "", 0), noState(state.Corrupt)), "Refuse StateCorrupt", ""},
		"destroyed, foreign lock":        {observed(op(naming.Destroy), ran(Succeeded, "", 0), noState(state.NotFound), locked(lock.Foreign)), "Wait StateLocked 15s", "me@laptop"},
		"destroyed, living lock":         {observed(op(naming.Destroy), ran(Succeeded, "", 0), noState(state.NotFound), locked(lock.Alive)), "Wait StateLockedByOwnPod 15s", ""},
		"destroyed, stale lock":          {observed(op(naming.Destroy), ran(Succeeded, "", 0), noState(state.NotFound), locked(lock.Stale)), "Cleanup Destroyed", ""},
		"never applied, foreign lock":    {observed(op(naming.Destroy), noState(state.NotFound), locked(lock.Foreign)), "Wait StateLocked 15s", "me@laptop"},
		"encrypted, not destroyed":       {observed(op(naming.Destroy), version("a"), noState(state.Encrypted)), "Start OperationDue a1", "destroy is due$"},
		"encrypted, destroyed in vain":   {observed(op(naming.Destroy), ran(Failed, "", time.Hour), ran(Failed, "", time.Hour), ran(Failed, "", time.Hour), noState(state.Encrypted)), "Start OperationDue a4", "destroy is due$"},
		"encrypted, failed, once":        {observed(op(naming.Destroy), wants(func(d *Desired) { d.Once = true }), ran(Failed, "", time.Hour), noState(state.Encrypted)), "Idle Done", "destroy has run"},
		"encrypted, the last one failed": {observed(op(naming.Destroy), ran(Succeeded, "", 0), ran(Succeeded, "", 0), ran(Succeeded, "", 0), ran(Failed, "", time.Hour), noState(state.Encrypted), version("c")), "Start OperationDue a5", "destroy is due$"},
		"encrypted, applied":             {observed(version("a"), ran(Succeeded, "", 0), noState(state.Encrypted), version("b")), "Start OperationDue a2", "apply is due$"},
		"encrypted, destroyed":           {observed(op(naming.Destroy), version("a"), ran(Succeeded, "", 0), noState(state.Encrypted), version("b")), "Start OperationDue a2", "destroy is due again: the state is encrypted"},
		"encrypted, destroyed, once":     {observed(op(naming.Destroy), wants(func(d *Desired) { d.Once = true }), version("a"), ran(Succeeded, "", 0), noState(state.Encrypted), version("b")), "Start OperationDue a2", ""},
		"encrypted, destroyed twice":     {observed(op(naming.Destroy), version("a"), ran(Succeeded, "", 0), version("b"), ran(Succeeded, "", 0), noState(state.Encrypted), version("b")), "Cleanup Destroyed", ""},
		"encrypted, changed since":       {observed(op(naming.Destroy), version("b"), ran(Succeeded, "", 0), noState(state.Encrypted), version("c")), "Start OperationDue a2", ""},
		"encrypted, changed each time":   {observed(op(naming.Destroy), ran(Succeeded, "", 0), ran(Succeeded, "", 0), ran(Succeeded, "", 0), noState(state.Encrypted), version("c")), "Refuse StateEncrypted", "3 destroys succeeded"},
		"encrypted, the second failed":   {observed(op(naming.Destroy), ran(Succeeded, "", 0), version("b"), ran(Failed, "", 0), noState(state.Encrypted), version("b")), "Wait BackingOff 1m0s", ""},
		"encrypted, made by the destroy": {observed(op(naming.Destroy), ran(Succeeded, "", 0), noState(state.Encrypted), version("a")), "Start OperationDue a2", ""},
		"destroy failed":                 {observed(op(naming.Destroy), ran(Failed, "provider", 0)), "Wait BackingOff 1m0s", ""},
		"destroy failed, once":           {observed(op(naming.Destroy), ran(Failed, "provider", time.Hour), wants(func(d *Desired) { d.Once = true })), "Idle Done", ""},
		"apply after a destroy":          {observed(op(naming.Destroy), ran(Succeeded, "", 0), op(naming.Apply), noState(state.NotFound)), "Start OperationDue a1", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.observed)
			if got := brief(d); got != tt.want {
				t.Errorf("got %q (%s), want %q", got, d.Message, tt.want)
			}
			if !strings.Contains(d.Message+"$", tt.says) {
				t.Errorf("message %q lacks %q", d.Message, tt.says)
			}
			if (d.Run != nil) != (d.Action == Follow) || (len(d.Book) > 0) != (d.Action == Book) {
				t.Errorf("%s of run %v, books of %d", d.Action, d.Run, len(d.Book))
			}
		})
	}
}

func brief(d Decision) string {
	text := fmt.Sprintf("%s %s", d.Action, d.Reason)
	switch d.Action {
	case Start:
		text += fmt.Sprintf(" a%d", d.Attempt)
	case Wait, Follow:
		text += " " + d.After.String()
	}
	if d.ForceUnlock != "" {
		text += " unlock " + d.ForceUnlock
	}
	return text
}

// The evidence that a Job carries is the lock as it was looked at, or that there was none.
func TestDecideRecordsTheLock(t *testing.T) {
	for want, o := range map[string]Observed{
		"7":    observed(),
		"8":    observed(locked(lock.Foreign)),
		"none": observed(func(o *Observed) { o.Lock = &lock.Finding{Verdict: lock.Free} }),
	} {
		if got := Decide(o).LockVersion; got != want {
			t.Errorf("got lock version %q, want %q", got, want)
		}
	}
	if got := Decide(observed(func(o *Observed) { o.Lock = nil })).LockVersion; got != "none" {
		t.Errorf("got lock version %q of a lock that was not looked at, want none", got)
	}
}

func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{
		0: 0, 1: time.Minute, 2: 2 * time.Minute, 4: 8 * time.Minute, 5: 10 * time.Minute, 1 << 40: 10 * time.Minute,
	} {
		if got := Backoff(n); got != want {
			t.Errorf("Backoff(%d) = %s, want %s", n, got, want)
		}
	}
}
