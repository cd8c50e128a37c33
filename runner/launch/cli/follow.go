package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// passTimeout is for the requests of one pass together.
const passTimeout = 30 * time.Second

// follower makes passes until the books of one run are closed, and tells of what happens meanwhile.
type follower struct {
	Env
	client   kubernetes.Interface
	launcher *launch.Launcher
	object   launch.Object
	mine     func(launch.Run) bool
	detach   bool
	attached bool // to a Job of somebody else, with nothing to make another one from
	json     bool

	job  string // mine, once it exists
	over bool   // its books are closed
	gone bool   // the state was removed
	// stopped says that a person chose to stop the Job.
	stopped bool
	// hindrance is what last kept the Job's pod from its start. The Job's end does not tell of it.
	hindrance string
	waited    bool // for machines, behind leases that only age away
	log       *podLog
	said      map[string]bool // by once
}

func (e Env) follower(client kubernetes.Interface, l *launch.Launcher, o launch.Object) *follower {
	namespace := o.Identity().Namespace
	f := &follower{
		Env: e, client: client, launcher: l, object: o,
		log:  &podLog{pods: client.CoreV1().Pods(namespace), out: e.Err},
		said: map[string]bool{},
	}
	// A Job that somebody has deleted must not be created anew.
	l.Policy = func(context.Context, launch.Order) error {
		if f.job != "" && !f.over {
			return errDeleted
		}
		return nil
	}
	return f
}

// run makes passes until there is an end. A failed request is made again: the Job goes on without us.
func (f *follower) run(ctx context.Context) error {
	defer f.log.stop()
	for {
		report, err := f.pass(ctx)
		if err != nil && !passing(err) {
			return err
		}
		if err != nil {
			f.once("%v; trying again", err)
		} else if done, err := f.step(ctx, report); done || err != nil {
			return err
		}
		if err == nil && report.Again {
			continue
		}
		if done, err := f.pause(ctx); done || err != nil {
			return err
		}
	}
}

// pass bounds a pass, so that an interrupt is heard although the API server does not answer.
func (f *follower) pass(ctx context.Context) (launch.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	return f.launcher.Pass(ctx, f.object)
}

// passing reports whether the same request may succeed a moment later.
func passing(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code >= 500 || code == 429 || code == 409
	}
	var usage Exit
	return !errors.As(err, &usage) && (requestFailed(err) || errors.Is(err, context.DeadlineExceeded))
}

// step looks at what a pass did.
func (f *follower) step(ctx context.Context, r launch.Report) (done bool, err error) {
	d := r.Decision
	last := f.last(r)
	if last != nil {
		f.over = true
		f.log.drain(ctx, *last)
		f.gone = f.gone || r.Gone
		if f.gone || !f.cleans(*last) || d.Action == launch.Idle {
			return true, f.finish(ctx, *last)
		}
	}
	switch {
	case r.Created != "":
		return f.created(r, last), nil
	case d.Action == launch.Follow:
		f.follow(ctx, *d.Run, d.Message)
	case d.Action == launch.Wait:
		f.once("%s: %s", d.Reason, d.Message)
		f.waited = f.waited || d.Reason == string(lease.WaitingForMachineOperations)
	case d.Action == launch.Refuse:
		return true, f.refuse(ctx, d, last)
	case d.Action == launch.Cleanup && r.Gone:
		f.say("nothing is left of the state")
		return true, nil
	case d.Action == launch.Idle && f.job != "":
		return true, f.deleted(ctx)
	}
	return false, nil
}

// created tells of the new Job, and how the one before it ended if it takes two.
func (f *follower) created(r launch.Report, last *launch.Run) (done bool) {
	if last != nil {
		f.printEnd(*last)
		f.say("%s", r.Decision.Message)
	}
	f.job, f.over = r.Created, false
	f.say("job %s is created", r.Created)
	switch {
	case f.detach && f.json:
		fmt.Fprintf(f.Out, "{\"job\":%q}\n", r.Created)
	case f.detach:
		fmt.Fprintln(f.Out, r.Created)
	}
	return f.detach
}

// refuse ends the command. last is not nil when it is only the removal of the state that is refused.
func (f *follower) refuse(ctx context.Context, d launch.Decision, last *launch.Run) error {
	if last != nil && f.attached {
		f.say("the state is left: %s launch destroy looks into it again, and removes it", f.Name())
		return f.finish(ctx, *last)
	}
	if last != nil {
		f.printEnd(*last)
	} else if d.Message == errDeleted.Error() {
		return f.deleted(ctx)
	}
	return Exit{Code: refusal(d.Reason), Err: f.refused(d, f.object)}
}

// refused names the reason once: the message about a state begins with it. The doctor knows the way out of those.
func (e Env) refused(d launch.Decision, o launch.Object) error {
	err := fmt.Errorf("%s: %s", d.Reason, strings.TrimPrefix(d.Message, d.Reason+": "))
	if strings.HasPrefix(d.Reason, "State") {
		return fmt.Errorf("%w; %s doctor %s%s says what to do", err, e.Name(), target(o), clusterFlag(o))
	}
	return err
}

func refusal(reason string) int {
	switch reason {
	case launch.ReasonInvalidTemplate:
		return result.ExitUsage
	case launch.ReasonCopyNotFound, launch.ReasonCopyUnusable:
		return result.ExitFailed
	}
	return result.ExitPerson
}

// follow shows what a Job does: its log, or what keeps it from having one.
func (f *follower) follow(ctx context.Context, run launch.Run, message string) {
	if !f.mine(run) {
		f.once("waiting for the end of job %s: %s; %s launch attach %s -n %s follows it, and stops it after Ctrl-C",
			run.Name, message, f.Name(), run.Name, f.object.Identity().Namespace)
	} else {
		f.job = run.Name
		if f.log.follow(ctx, run) {
			f.hindrance = ""
			return
		}
		f.once("%s", message)
	}
	warnings := f.warnings(ctx, run)
	for _, line := range warnings {
		f.once("%s", line)
	}
	if f.mine(run) {
		f.hinder(run, warnings)
	}
}

// hinder keeps what keeps a Job's pod from its start, else from being there.
func (f *follower) hinder(run launch.Run, warnings []string) {
	for _, p := range run.Pods {
		if p.Waiting != "" {
			f.hindrance = fmt.Sprintf("pod %s: %s: %s", p.Name, p.Waiting, p.Message)
		}
	}
	if n := len(warnings); f.hindrance == "" && len(run.Pods) == 0 && n > 0 {
		f.hindrance = warnings[n-1]
	}
}

// last is the newest of mine, if its books are closed.
func (f *follower) last(r launch.Report) *launch.Run {
	for _, runs := range [][]launch.Run{r.Booked, r.Runs} {
		for _, run := range slices.Backward(runs) {
			switch {
			case !f.mine(run):
			case run.Booked:
				return &run
			default:
				return nil
			}
		}
	}
	return nil
}

// cleans reports whether more is to be done after a run: after a destroy the next pass removes the state, and needs
// another destroy before it if that is encrypted.
func (f *follower) cleans(run launch.Run) bool {
	return run.Op == naming.Destroy && run.Outcome.Verdict == launch.Succeeded && f.object.Desired().Op == naming.Destroy
}

// newPod is a name that the Job controller gives to the pod of a launched Job: another one at each try.
var newPod = regexp.MustCompile(`\b(captf-[a-z0-9-]+-a[0-9]+-[0-9a-f]{6})-[a-z0-9]{5}\b`)

// once says what it has not said before: what keeps a Job from going on comes and goes with every try.
func (f *follower) once(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if known := newPod.ReplaceAllString(text, "$1"); !f.said[known] {
		f.said[known] = true
		f.say("%s", text)
	}
}

// pause waits until the next pass, or asks what an interrupt is to mean.
func (f *follower) pause(ctx context.Context) (done bool, err error) {
	select {
	case <-ctx.Done():
		return true, ctx.Err()
	case <-f.Interrupts:
		return f.interrupted(ctx)
	case <-time.After(f.Poll):
		return false, nil
	}
}

// interrupted lets the Job go on, unless a person says otherwise.
func (f *follower) interrupted(ctx context.Context) (bool, error) {
	switch {
	case f.job == "" && f.waited:
		f.say("no job was created; what it has reserved for one is free again in %s", lease.Grace)
		return true, Exit{Code: result.ExitRetry}
	case f.job == "":
		f.say("no job was created")
		return true, Exit{Code: result.ExitRetry}
	}
	if f.Terminal && f.ask() {
		return false, f.stopJob(ctx)
	}
	f.say("job %s goes on: %s launch attach %s -n %s follows it again", f.job, f.Name(), f.job, f.object.Identity().Namespace)
	return true, Exit{Code: result.ExitRetry}
}

// preview prints the Job that would be created.
func (e Env) preview(ctx context.Context, l *launch.Launcher, o launch.Object, output string) error {
	d, job, err := l.Preview(ctx, o)
	if err != nil {
		return err
	}
	if job == nil {
		code := refusal(d.Reason)
		if d.Action == launch.Follow || d.Action == launch.Wait { // time helps
			code = result.ExitRetry
		}
		return Exit{Code: code, Err: fmt.Errorf("no job would be created: %w", e.refused(d, o))}
	}
	if output == outputJSON {
		doc := json.NewEncoder(e.Out)
		doc.SetIndent("", "    ")
		return doc.Encode(job)
	}
	text, err := yaml.Marshal(job)
	if err != nil {
		return err
	}
	_, err = e.Out.Write(text)
	return err
}
