// Package backup keeps copies of states in Secrets, to restore them from.
//
// [Store.Take] copies the chunks of a state as they are, before an operation that may change it and after every new
// serial, and [Store.Prune] leaves the newest [Keep] of them. [Store.List] lists the backups of an object and the rescue
// sets that its runs left when they could not save. [Store.Load] reads one of either kind for a Job of op restore, and
// checks it; [Set.CheckLineage] says whether it may replace what is there. See spec/state-and-locks.md, "Backups and
// restore".
//
// An encrypted state is backed up too: copying it needs no key.
package backup

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// Keep is how many complete backups of a state are kept.
const Keep = 5

// Origin says who made a copy.
type Origin string

// The origins.
const (
	// Backup: the library, of a state that was in its place.
	Backup Origin = "backup"
	// Rescue: a runner, of a state that it could not put into its place.
	Rescue Origin = "rescue"
)

// Set is a copy of a state, in one Secret or several.
type Set struct {
	// Name is that of its first Secret, whether or not that is there.
	Name   string
	Origin Origin
	// Serial is the state's.
	Serial uint64
	// Lineage is the state's.
	Lineage string
	// Digest is the hex SHA-256 of the state, decompressed.
	Digest string
	// Time is when it was made, by the clock of its maker.
	Time time.Time
	// Parts is the number of Secrets that it was made of.
	Parts int
	// Cluster is the one that its label names, empty for none.
	Cluster string
	// Empty says that an encrypted state was found to have no resources, see [Store.MarkEmpty].
	Empty bool
	// Size is that of the Secrets that are there, in bytes of compressed state.
	Size int64

	there []int // the parts that are there, in order
	stray []int // parts of another set by the same name, which was not removed to its end
}

// Complete reports whether all of its Secrets are there. Only then it may be restored.
func (s Set) Complete() bool {
	return s.Parts > 0 && len(s.there) == s.Parts && s.there[s.Parts-1] == s.Parts-1
}

// Secrets returns the names of the Secrets that are there, in the order of their chunks. A Job of op restore gets the
// value of [state.DataKey] of each as the files 0, 1, 2 and so on of its folder restore.
func (s Set) Secrets() []string { return s.names(s.there) }

func (s Set) names(parts []int) []string {
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = s.secret(part)
	}
	return names
}

func (s Set) secret(part int) string {
	if part == 0 {
		return s.Name
	}
	return s.Name + "-part-" + strconv.Itoa(part)
}

// ErrLineage says that a copy is of another state than the one that is there.
var ErrLineage = errors.New("the copy is of another lineage")

// CheckLineage returns an error that matches [ErrLineage] if the set would replace a state of another lineage.
// current is nil if there is none, or none that can be read. asked is the lineage that a person asked for by name,
// empty for none: a set of that one may replace any state, and a set of another one none.
func (s Set) CheckLineage(current *state.Summary, asked string) error {
	switch {
	case asked != "" && asked != s.Lineage:
		return fmt.Errorf("restore %s: %w %s, %s was asked for: choose the copy or the lineage anew", s.Name, ErrLineage, s.Lineage, asked)
	case asked == "" && current != nil && current.Lineage != s.Lineage:
		return fmt.Errorf("restore %s: %w %s, the state that is there has %s: ask for the lineage by name to replace it",
			s.Name, ErrLineage, s.Lineage, current.Lineage)
	}
	return nil
}

// sets puts the Secrets of copies together, newest first. Secrets that are none are passed over.
func sets(suffix string, secrets []corev1.Secret) []Set {
	var parts []piece
	for i := range secrets {
		if p, ok := parse(suffix, &secrets[i]); ok {
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b piece) int {
		return cmp.Or(strings.Compare(a.set.Name, b.set.Name), cmp.Compare(a.part, b.part))
	})
	var all []Set
	for _, p := range parts {
		if n := len(all); n == 0 || all[n-1].Name != p.set.Name {
			all = append(all, p.set) // what its first part says
		}
		s := &all[len(all)-1]
		if s.same(p.set) {
			s.there = append(s.there, p.part)
			s.Size += p.size
		} else {
			s.stray = append(s.stray, p.part)
		}
	}
	slices.SortFunc(all, func(a, b Set) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Serial, a.Serial), strings.Compare(a.Name, b.Name))
	})
	return all
}

func (s Set) same(other Set) bool {
	return s.Digest == other.Digest && s.Parts == other.Parts && s.Lineage == other.Lineage
}

// piece is a Secret of a set, and what it says about the set.
type piece struct {
	set  Set
	part int
	size int64
}

// parse is false for a Secret that is called like none of the object's copies, and for none.
func parse(suffix string, secret *corev1.Secret) (p piece, ok bool) {
	if secret == nil {
		return piece{}, false
	}
	made, s := naming.AnnotationBackedUpAt, &p.set
	s.Origin = Backup
	if s.Serial, p.part, ok = naming.BackupPart(suffix, secret.Name); !ok {
		made = naming.AnnotationRescuedAt
		s.Origin = Rescue
		if s.Serial, p.part, ok = naming.RescuePart(suffix, secret.Name); !ok {
			return piece{}, false
		}
	}
	a := secret.Annotations
	s.Empty, s.Cluster = a[naming.AnnotationEmpty] == "true", secret.Labels[naming.LabelCluster]
	s.Name = strings.TrimSuffix(secret.Name, "-part-"+strconv.Itoa(p.part))
	s.Lineage, s.Digest = a[naming.AnnotationLineage], a[naming.AnnotationDigest]
	s.Parts, _ = strconv.Atoi(a[naming.AnnotationParts]) // 0 is never complete
	s.Time, _ = time.Parse(time.RFC3339Nano, a[made])
	p.size = int64(len(secret.Data[state.DataKey]))
	return p, true
}
