package main

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/captf/captf-runner/internal/plural"
	"github.com/captf/captf-runner/internal/shell"
	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
)

// level is how much a finding matters.
type level string

const (
	fine    level = "ok"
	note    level = "note"    // worth to know; it solves itself
	problem level = "problem" // a person is needed
)

func (l level) mark() string {
	if l == problem {
		return "!!"
	}
	return string(l)
}

// finding is one thing that was found, with the one next command where there is one.
type finding struct {
	Area  string `json:"area"` // state, lock, lease, job, copies; or cluster, if that is all that can be told
	Level level  `json:"level"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
}

// diagnose decides what is to be told, in the order in which it is to be dealt with.
func (s observed) diagnose() []finding {
	switch {
	case apierrors.IsUnauthorized(s.silentErr):
		return []finding{{Area: "cluster", Level: problem, Text: "it does not know you: " + s.silentErr.Error(), Next: s.kubectl + " auth whoami"}}
	case s.silentErr != nil:
		return []finding{{Area: "cluster", Level: problem, Text: "it does not answer: " + s.silentErr.Error(), Next: s.kubectl + " cluster-info"}}
	case s.namespaceErr != nil:
		return []finding{{Area: "cluster", Level: problem, Text: s.namespaceErr.Error(), Next: s.kubectl + " get namespace"}}
	}
	var all []finding
	for _, area := range []struct {
		name string
		err  error
		look func() []finding
	}{
		{"state", s.stateErr, s.ofState},
		{"lock", s.lockErr, s.ofLock},
		{"lease", s.leasesErr, s.ofLeases},
		{"job", s.runsErr, s.ofJobs},
		{"copies", s.copiesErr, s.ofCopies},
	} {
		found := []finding{s.unseen(area.err)}
		if area.err == nil {
			found = area.look()
		}
		for _, f := range found {
			f.Area = area.name
			all = append(all, f)
		}
	}
	return all
}

// unseen is the finding that something could not be read.
func (s observed) unseen(err error) finding {
	if err == nil {
		return finding{}
	}
	f := finding{Level: problem, Text: "it cannot be looked at: " + err.Error(), Next: s.kubectl + " cluster-info"}
	var status apierrors.APIStatus
	if apierrors.IsForbidden(err) && errors.As(err, &status) && status.Status().Details != nil {
		d := status.Status().Details
		resource := d.Kind
		if d.Group != "" {
			resource += "." + d.Group
		}
		f.Next = fmt.Sprintf("%s auth can-i --list -n %s, and have the right on %s granted", s.kubectl, s.object.Namespace, resource)
	}
	return f
}

// command is one of this program's, for this object.
func (s observed) command(words string, more ...string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s -n %s %s", s.captf, words, objectName(s.object), s.object.Namespace, strings.Join(more, " ")))
}

// compare is the command that shows what a copy has that the state has not.
func (s observed) compare(copyName string) string {
	name := objectName(s.object)
	return fmt.Sprintf("%s state diff %s %s@%s -n %s", s.captf, name, name, copyName, s.object.Namespace)
}

// explain is the command that shows what is in a copy.
func (s observed) explain(copyName string) string {
	return fmt.Sprintf("%s state explain %s@%s -n %s", s.captf, objectName(s.object), copyName, s.object.Namespace)
}

// pull is the command that prints a copy.
func (s observed) pull(copyName string) string {
	return fmt.Sprintf("%s state pull %s@%s -n %s", s.captf, objectName(s.object), copyName, s.object.Namespace)
}

func (s observed) ofState() []finding {
	v := s.state
	switch reason := state.Reason(v.Reason); {
	case v.Readable == "True":
		return []finding{{Level: fine, Text: fmt.Sprintf("readable: serial %d, %d %s, lineage %s",
			v.Summary.Serial, *v.Summary.Resources, plural.Of("resource", *v.Summary.Resources), v.Summary.Lineage)}}
	case reason == state.Encrypted:
		return []finding{{Level: fine, Text: fmt.Sprintf("encrypted by OpenTofu: serial %d, lineage %s; only its key tells more", v.Summary.Serial, v.Summary.Lineage)}}
	case reason == state.NotFound:
		return []finding{s.withoutState()}
	case v.cure:
		return []finding{{Level: problem, Text: v.Message, Next: v.Next}}
	case v.unfilled && !launch.Applied(s.runs):
		return []finding{{Level: note, Text: "there is no state yet: a first init was killed before it had written one; the next Job goes on from there"}}
	}
	return []finding{{Level: problem, Text: v.Message, Next: s.restoreNewest()}}
}

// withoutState tells by the Jobs whether a state is lost that no copy says is lost.
func (s observed) withoutState() finding {
	switch {
	case launch.Applied(s.runs):
		return finding{Level: problem, Text: "lost: a Job has applied, and there is no Secret; the next apply would create everything anew", Next: s.restoreNewest()}
	case len(s.runs)+len(s.copies) > 0 || s.state.Next == "":
		return finding{Level: note, Text: "there is no state: nothing was applied yet, or everything is destroyed"}
	}
	return finding{Level: note, Text: "there is no state, no Job and no copy of an object of this name", Next: s.state.Next}
}

// gone reports whether there is no state because there is none to be.
func (s observed) gone() bool {
	return s.state.Reason == string(state.NotFound) && !launch.Applied(s.runs)
}

// restore is the command that makes a copy the state; IMAGE and ROOT are those of the object's other Jobs.
func (s observed) restore(copyName string) string {
	return s.command("launch restore", "--image IMAGE -f ROOT --backup", copyName)
}

// restoreNewest is the command for a state that is not there, or that cannot be read.
func (s observed) restoreNewest() string {
	if best, ok := s.newest(); ok {
		return s.restore(best.Name)
	}
	return "there is no complete copy; see what is there: " + s.kubectl + " get secret -n " + s.object.Namespace + " -l tfstateSecretSuffix=" + naming.Suffix(s.object)
}

// newest is the newest complete copy. A serial does not tell: a restore may take it back.
func (s observed) newest() (backup.Set, bool) {
	for _, c := range s.copies {
		if c.Complete() {
			return c, true
		}
	}
	return backup.Set{}, false
}

func (s observed) ofLock() []finding {
	v := viewLock(s.object, s.lock, s.programs)
	text := fmt.Sprintf("%s: %s", v.Verdict, v.Why)
	switch {
	case s.lock.Lock.EmptyHolder:
		return []finding{{Level: problem, Text: text, Next: s.command("lock release")}}
	case v.Verdict == lock.Free:
		return []finding{{Level: fine, Text: text}}
	}
	text += fmt.Sprintf("; %s holds it for %s since %s, ID %s", table.OrDash(v.Who), table.OrDash(v.Operation), table.OrDash(table.Stamp(s.lock.Lock.Info.Created)), v.ID)
	switch v.Verdict {
	case lock.Alive:
		return []finding{{Level: fine, Text: text, Next: fmt.Sprintf("%s logs -f -n %s %s", s.kubectl, s.object.Namespace, v.Pod)}}
	case lock.Stale:
		return []finding{{Level: note, Text: text + "; the next Job releases it", Next: s.command("lock release")}}
	}
	return []finding{{Level: problem, Text: text, Next: "make sure that it is dead, then: " + s.command("lock release", "--foreign --id", shell.Quote(v.ID))}}
}

func (s observed) ofLeases() []finding {
	var all []finding
	for _, l := range s.leases {
		f := finding{Level: fine, Text: fmt.Sprintf("%s lease of %s: %s", l.Kind, l.Owner, l.Why)}
		if l.Status == lease.Live && l.Job != "" {
			f.Text += "; job " + l.Job
			if l.Owner != objectName(s.object) {
				f.Text += "; " + objectName(s.object) + " waits for it"
			}
			f.Next = fmt.Sprintf("%s get job,pod -n %s -l batch.kubernetes.io/job-name=%s", s.kubectl, s.object.Namespace, l.Job)
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		all = append(all, finding{Level: fine, Text: "none: " + noLease(s.object)})
	}
	return all
}

func (s observed) ofCopies() []finding {
	var all []finding
	complete, without := 0, "no backup"
	for _, c := range s.copies {
		switch {
		case c.Origin == backup.Rescue:
			all = append(all, s.ofRescue(c))
		case c.Complete():
			complete++
		default:
			without = "no backup that is complete"
		}
	}
	f := finding{Level: fine, Text: fmt.Sprintf("%d complete %s", complete, plural.Of("backup", complete))}
	if complete == 0 && s.state.Summary != nil {
		f = finding{Level: note, Text: without, Next: s.command("state backup")}
	}
	return append(all, f)
}

// ofRescue tells whether a rescue set has what the state has not.
func (s observed) ofRescue(c backup.Set) finding {
	in := s.state.Summary
	switch text := fmt.Sprintf("rescue set %s has serial %d", c.Name, c.Serial); {
	case s.gone():
		return finding{Level: note, Text: text + ", of a state that is gone: if nothing of it exists any more, remove the set", Next: s.explain(c.Name)}
	case !c.Complete():
		return finding{Level: problem, Text: text + ", and is not complete", Next: s.command("state rescue")}
	case in == nil:
		return finding{Level: problem, Text: text + ", and there is no state that can be read", Next: s.restore(c.Name)}
	case in.Lineage != c.Lineage:
		return finding{Level: note, Text: text + ", of another lineage than the state", Next: s.compare(c.Name)}
	case in.Serial >= c.Serial:
		return finding{Level: note, Text: fmt.Sprintf("%s, the state has %d: if it is in it, remove the set", text, in.Serial), Next: s.compare(c.Name)}
	case s.tooLarge():
		return finding{Level: problem, Text: fmt.Sprintf("%s, the state has only %d: what a run did is missing in it, and a Secret has no room for it: "+
			"make it smaller, or keep it elsewhere, before anything else runs", text, in.Serial), Next: s.pull(c.Name) + " > state.json"}
	default:
		return finding{Level: problem, Text: fmt.Sprintf("%s, the state has only %d: what a run did is missing in it; restore the set before anything else runs", text, in.Serial),
			Next: "look first: " + s.compare(c.Name) + "; then: " + s.restore(c.Name)}
	}
}
