package lock

import (
	"regexp"
	"strings"
)

// unlockTexts are the failures of `force-unlock` that are none, as the runtimes print them, in lower
// case and with white space squeezed. The first match counts.
var unlockTexts = []struct {
	text    *regexp.Regexp
	outcome Outcome
}{
	{regexp.MustCompile(`does not match existing lock`), HeldByOther},
	{regexp.MustCompile(`failed to unlock state: unexpected http response code (409|423)\b`), HeldByOther},

	{regexp.MustCompile(`state is already unlocked`), AlreadyUnlocked},
	{regexp.MustCompile(`failed to unlock state: unexpected http response code 404\b`), AlreadyUnlocked},
	{regexp.MustCompile(`leases\.coordination\.k8s\.io "[^"]*" not found`), AlreadyUnlocked},
	{regexp.MustCompile(`retrieve (s3 )?lock info: (unexpected end of json input|no lock info found|blob metadata "[^"]*" was empty)`), AlreadyUnlocked},

	{regexp.MustCompile(`localstate not locked`), Unsupported},
	{regexp.MustCompile(`local state cannot be unlocked by another process`), Unsupported},
	{regexp.MustCompile(`lock id should be numerical`), Unsupported},
	{regexp.MustCompile(`locking is disabled for this backend`), Unsupported},
}

// ClassifyUnlock tells what a `force-unlock` did from its exit code and everything that it printed.
// It reports false for a failure that is one: the role, the network, a bad configuration. It is the
// fallback for when the Lease itself cannot be read: Terraform exits 0 for an http backend that has
// no unlock address, although nothing was unlocked.
func ClassifyUnlock(exit int, text string) (Unlock, bool) {
	if exit == 0 {
		return Unlock{Outcome: Released}, true
	}
	squeezed := strings.ToLower(strings.Join(strings.Fields(plain(text)), " "))
	for _, known := range unlockTexts {
		if !known.text.MatchString(squeezed) {
			continue
		}
		unlock := Unlock{Outcome: known.outcome}
		if unlock.Outcome == HeldByOther {
			unlock.Holder, _ = ParseText(text)
		}
		return unlock, true
	}
	return Unlock{}, false
}
