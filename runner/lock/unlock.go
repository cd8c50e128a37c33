package lock

import (
	"regexp"
	"strings"
)

// unlockTexts are the failures of `force-unlock` that are none, as the runtimes print them, in lower
// case and with white space squeezed. The first match counts.
var unlockTexts = []struct {
	text    func() *regexp.Regexp
	outcome Outcome
}{
	{pattern(`does not match existing lock`), HeldByOther},
	{pattern(`failed to unlock state: unexpected http response code (409|423)\b`), HeldByOther},
	{pattern(`failed to unlock state: (\d errors occurred: \* )?googleapi: error 412\b`), HeldByOther},

	{pattern(`state is already unlocked`), AlreadyUnlocked},
	{pattern(`failed to unlock state: unexpected http response code 404\b`), AlreadyUnlocked},
	{pattern(`leases\.coordination\.k8s\.io "[^"]*" not found`), AlreadyUnlocked},
	{pattern(`retrieve (s3 )?lock info: (unexpected end of json input|no lock info found|blob metadata "[^"]*" was empty)`), AlreadyUnlocked},
	{pattern(`retrieve s3 lock info: operation error s3: getobject\b.*\bnosuchkey\b`), AlreadyUnlocked},
	{pattern(`failed to unlock state: (\d errors occurred: \* )?storage: object doesn't exist`), AlreadyUnlocked},

	{pattern(`localstate not locked`), Unsupported},
	{pattern(`local state cannot be unlocked by another process`), Unsupported},
	{pattern(`lock id should be numerical`), Unsupported},
	{pattern(`locking is disabled for this backend`), Unsupported},
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
		if !known.text().MatchString(squeezed) {
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
