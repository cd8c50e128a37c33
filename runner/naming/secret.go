package naming

import (
	"strconv"
	"strings"
)

const (
	statePrefix  = "tfstate-default-"
	backupPrefix = "captf-state-backup-"
	rescuePrefix = "captf-rescue-"
	partInfix    = "-part-"
)

// AnnotationFenced is on each Secret of a state that was fenced off from the dead holder of its lock: the ID of that
// lock.
const AnnotationFenced = "captf.io/fenced-lock"

// Suffix returns the object's secret_suffix: the first 16 hex characters of the
// SHA-256 of namespace/kind/name, a hyphen, and the kind's short code. It never
// ends in a hyphen and digits, where the backend would read a chunk index
// (https://github.com/hashicorp/terraform/issues/33995).
func Suffix(o Object) string {
	return shortHash(o.String()) + "-" + o.Kind.Short()
}

// StateSecret returns the name of a chunk of the state. Part 0 is the base.
func StateSecret(suffix string, part int) string {
	return withPart(statePrefix+suffix, part)
}

// StatePart is the inverse of [StateSecret]: it returns the chunk index that
// name stands for, and false for a name that StateSecret never gives.
func StatePart(suffix, name string) (part int, ok bool) {
	rest, ok := strings.CutPrefix(name, statePrefix+suffix)
	if !ok {
		return 0, false
	}
	return parsePart(rest)
}

// BackupSecret returns the name of a chunk of the backup of one serial.
func BackupSecret(suffix string, serial uint64, part int) string {
	return withPart(backupPrefix+suffix+"-"+strconv.FormatUint(serial, 10), part)
}

// OtherBackupSecret returns the name of a chunk of the backup of another state with the same serial: a restore may
// take a state's serial back. digest is the state's SHA-256 in hex, of which eight characters are used.
func OtherBackupSecret(suffix string, serial uint64, digest string, part int) string {
	return withPart(backupPrefix+suffix+"-"+strconv.FormatUint(serial, 10)+digestInfix+digest[:digestLen], part)
}

// BackupPart is the inverse of [BackupSecret] and of [OtherBackupSecret].
func BackupPart(suffix, name string) (serial uint64, part int, ok bool) {
	return parseCopy(backupPrefix+suffix, name)
}

// RescueSecret returns the name of a chunk of the rescue set of one serial.
func RescueSecret(suffix string, serial uint64, part int) string {
	return withPart(rescuePrefix+suffix+"-"+strconv.FormatUint(serial, 10), part)
}

// OtherRescueSecret returns the name of a chunk of the rescue set of another state with
// the same serial: two runs that could not save made both of them from one state. digest
// is the state's SHA-256 in hex, of which eight characters are used.
func OtherRescueSecret(suffix string, serial uint64, digest string, part int) string {
	return withPart(rescuePrefix+suffix+"-"+strconv.FormatUint(serial, 10)+digestInfix+digest[:digestLen], part)
}

const (
	digestInfix = "-x" // no digit follows a hyphen, so it is no part
	digestLen   = 8
)

// RescuePart is the inverse of [RescueSecret] and of [OtherRescueSecret].
func RescuePart(suffix, name string) (serial uint64, part int, ok bool) {
	return parseCopy(rescuePrefix+suffix, name)
}

func withPart(base string, part int) string {
	if part == 0 {
		return base
	}
	return base + partInfix + strconv.Itoa(part)
}

// parsePart reads what withPart put behind a base name.
func parsePart(rest string) (int, bool) {
	if rest == "" {
		return 0, true
	}
	digits, ok := strings.CutPrefix(rest, partInfix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	// The last comparison refuses signs and leading zeros.
	return n, err == nil && n > 0 && strconv.Itoa(n) == digits
}

// parseCopy reads the name of a copy of a state: the serial, the digest if there is one, and the part.
func parseCopy(prefix, name string) (serial uint64, part int, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix+"-")
	if !ok {
		return 0, 0, false
	}
	end := len(rest)
	if i := strings.IndexByte(rest, '-'); i >= 0 {
		end = i
	}
	serial, err := strconv.ParseUint(rest[:end], 10, 64)
	if err != nil || strconv.FormatUint(serial, 10) != rest[:end] {
		return 0, 0, false
	}
	part, ok = parsePart(withoutDigest(rest[end:]))
	return serial, part, ok
}

// withoutDigest takes away what tells two copies of one serial apart.
func withoutDigest(rest string) string {
	digest, ok := strings.CutPrefix(rest, digestInfix)
	if !ok || len(digest) < digestLen || !allBytes(digest[:digestLen], isLowerHex) {
		return rest
	}
	return digest[digestLen:]
}
