package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

const (
	// MaxJobName is the length limit of a Job name: its pod's name is six
	// characters longer and must be a whole hostname, which holds 63, because
	// the lock's holder is known by its hostname alone.
	MaxJobName = 57
	// MaxAttempt is the highest attempt that a Job name can hold.
	MaxAttempt = 999_999_999

	podRandom = 5
	hashLen   = 6
	shortLen  = 16
)

// Job is what the name of a Job says.
type Job struct {
	Op      Op
	Attempt int
	// Hash is the six hex characters that tell inputs, attempts and ticks apart.
	Hash string
}

// JobName returns captf-<short>-<name>-<op>-a<attempt>-<hash6>, at most
// [MaxJobName] characters and a DNS label. It depends on its arguments only, so
// creating the Job twice is a conflict and not a second run. tick tells two runs
// of the same inputs apart, such as the scheduled drift checks of one day.
//
// A name part that is too long, holds a dot, or looks like the hash of another
// name is replaced by the first 16 hex characters of its SHA-256.
//
// The error is that of [Object.Validate], or names an unknown operation or an
// attempt outside 1 to [MaxAttempt].
func JobName(o Object, op Op, attempt int, inputsHash, tick string) (string, error) {
	if err := o.Validate(); err != nil {
		return "", fmt.Errorf("job name: %w", err)
	}
	if _, err := ParseOp(string(op)); err != nil {
		return "", fmt.Errorf("job name for %s: %w", o, err)
	}
	if attempt < 1 || attempt > MaxAttempt {
		return "", fmt.Errorf("job name for %s: attempt %d is not between 1 and %d", o, attempt, MaxAttempt)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{inputsHash, string(op), strconv.Itoa(attempt), tick}, "\x00")))
	return Job{Op: op, Attempt: attempt, Hash: hex.EncodeToString(sum[:])[:hashLen]}.name(o), nil
}

func (j Job) name(o Object) string {
	head := "captf-" + o.Kind.Short() + "-"
	tail := "-" + string(j.Op) + "-a" + strconv.Itoa(j.Attempt) + "-" + j.Hash
	return head + namePart(o.Name, MaxJobName-len(head)-len(tail)) + tail
}

// namePart returns name if it fits into room, or its hash. A name that has the
// shape of a hash is hashed too: otherwise an object could be called like the
// hash of another's name, and own its pods.
func namePart(name string, room int) string {
	if len(name) > room || !isDNSPart(name) || len(name) == shortLen && allBytes(name, isLowerHex) {
		return shortHash(name)
	}
	return name
}

// ParseJob is the inverse of [JobName]: it returns what name says if name is
// that of a Job of the object, and false for any other.
func ParseJob(o Object, name string) (Job, bool) {
	fields := strings.Split(name, "-")
	if len(fields) < 6 || o.Validate() != nil {
		return Job{}, false
	}
	fields = fields[len(fields)-3:]
	op, err := ParseOp(fields[0])
	digits, isAttempt := strings.CutPrefix(fields[1], "a")
	attempt, errAttempt := strconv.Atoi(digits)
	j := Job{Op: op, Attempt: attempt, Hash: fields[2]}
	switch {
	case err != nil || !isAttempt || errAttempt != nil:
		return Job{}, false
	case attempt < 1 || attempt > MaxAttempt:
		return Job{}, false
	case len(j.Hash) != hashLen || !allBytes(j.Hash, isLowerHex):
		return Job{}, false
	}
	// Naming it again leaves nothing to guess, not even a leading zero.
	if j.name(o) != name {
		return Job{}, false
	}
	return j, true
}

// NextAttempt returns the attempt of the object's next Job of op: one more than
// the highest among the names of the retained Jobs. Names of other objects and
// operations are passed over.
func NextAttempt(o Object, op Op, jobNames []string) int {
	highest := 0
	for _, name := range jobNames {
		if j, ok := ParseJob(o, name); ok && j.Op == op {
			highest = max(highest, j.Attempt)
		}
	}
	return highest + 1
}

// OwnsPod reports whether podName is that of a pod of one of the object's Jobs.
// It is the exact inverse of [JobName] plus the hyphen and five characters that
// the Job controller adds. Pods of equal name in another namespace are the
// caller's to tell apart: a hostname has no namespace.
func OwnsPod(o Object, podName string) bool {
	i := len(podName) - podRandom - 1
	if i < 0 || podName[i] != '-' || !allBytes(podName[i+1:], isLowerAlnum) {
		return false
	}
	_, ok := ParseJob(o, podName[:i])
	return ok
}
