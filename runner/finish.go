package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
)

// writeLast writes the result for the last time. A result that nobody can read is a failure of the run, whatever else
// it did. A stream takes one document only; anything else has one before what takes time.
func (r *run) writeLast() (err error) {
	stream := r.report.file != nil && r.report.file.Stream()
	if !stream {
		err = r.report.write(false)
	}
	if r.overflow() || stream {
		err = r.report.write(false)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w: the run is over (%s), and its result is lost: name a file that can be written with --result", err, r.report.outcome())
	if r.report.Error == nil {
		r.report.Error = r.errorOf(&failure{kind: result.KindStep, err: err})
	}
	return errors.New(r.redact.String(err.Error()))
}

// finish completes the result and writes it for the last time.
func (r *run) finish(err error) (*result.Result, error) {
	if err != nil {
		f := asFailure(err, r.stop)
		r.report.Error = r.errorOf(f)
		err = errors.New(r.redact.String(r.subject() + ": " + f.Error() + unsavedText(r.report.Unsaved) + r.leftLockText()))
	}
	if r.local != nil && r.rt != nil && !r.opts.DryRun {
		r.summarise(context.Background())
	}
	unwritten := r.writeLast()
	if unwritten == nil && r.report.file != nil {
		r.legacy.dropResults()
		r.dropLists()
	}
	err = errors.Join(err, unwritten)
	r.discardList()
	r.announceEnd()
	r.notifier.close(drainTime(r.stop))
	return r.report.cleaned(), err
}

// leftLockText names the lock that this run leaves to those after it. The next local run releases it by itself.
func (r *run) leftLockText() string {
	if r.opts.Local || !r.holdsOwnLock() {
		return ""
	}
	return "; this run's own lock is still held: hand it down to the next run by --force-unlock " + r.child.lock
}

// maxNamed bounds how many resources the last line names.
const maxNamed = 3

// unsavedText is for people: what may be there that no state knows, and what to do about it. It goes on from a sentence.
func unsavedText(u *result.Unsaved) string {
	if u == nil {
		return ""
	}
	var names []string
	for _, c := range u.Resources[:min(maxNamed, len(u.Resources))] {
		if name := c.Action + " " + c.Address; c.ID == "" {
			names = append(names, name)
		} else {
			names = append(names, name+" (ID "+c.ID+")")
		}
	}
	if more := u.Count - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more, see \"unsaved\" in the result", more))
	}
	wayOut := "look for what was made, and import or delete it before the next run"
	if foundByNext(u) {
		wayOut = "nothing was made: the next run finds out how far that came"
	}
	return fmt.Sprintf("; no saved state may know of %d: %s; %s", u.Count, strings.Join(names, ", "), wayOut)
}

// foundByNext tells of changes that the next refresh finds: all are to what a state has.
func foundByNext(u *result.Unsaved) bool {
	makes := func(c result.UnsavedResource) bool { return c.Action != plan.Delete && c.Action != plan.Update }
	return u.Count == len(u.Resources) && !slices.ContainsFunc(u.Resources, makes)
}

// announceEnd is the event about the end of the run.
func (r *run) announceEnd() {
	if e := r.report.Error; e != nil {
		r.warn("RunFinished", fmt.Sprintf("%s: %s: %s", r.opts.Op, e.Kind, e.Tail))
		return
	}
	r.notify("RunFinished", fmt.Sprintf("%s: %s", r.opts.Op, r.report.outcome()))
}

// errorOf is what the result says of a failure. Its tail is redacted before it is cut: of half a secret nobody
// would know that it is one.
func (r *run) errorOf(f *failure) *result.Error {
	tail := result.Tail(r.redact.String(cmp.Or(f.tail, f.err.Error())))
	return &result.Error{Kind: f.kind, Reason: f.reason, Step: f.step, Tail: tail, Resources: f.resources}
}

// subject names the run in messages, as far as it is known.
func (r *run) subject() string {
	op := cmp.Or(string(r.opts.Op), "run")
	if object := r.object(); object != "" {
		return op + ": " + object
	}
	return op
}

// object names what the run is about.
func (r *run) object() string {
	switch {
	case r.local != nil:
		return r.local.name
	case r.backend.kind == "":
		return ""
	}
	return r.backend.String()
}
