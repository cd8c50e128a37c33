package runtime

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Failure is the class of a failed step. The values are those of a result's error.reason (spec/runner.md, "The
// result") that can be read from what a runtime printed.
type Failure string

// The classes, and who has to do something about each.
const (
	FailureConfig      Failure = "config"      // the author of the module or its inputs
	FailureProvider    Failure = "provider"    // a provider refused or failed; the infrastructure's owner
	FailureLocked      Failure = "locked"      // nobody: another run holds the lock
	FailureLockLost    Failure = "lock-lost"   // whoever force-unlocked a running apply
	FailureRBAC        Failure = "rbac"        // whoever grants the ServiceAccount its rights
	FailureCredentials Failure = "credentials" // whoever gives the run its user name and password for the state server
	FailureQuota       Failure = "quota"       // whoever sets the quota of the namespace
	FailureRegistry    Failure = "registry"    // nobody: the registry did not answer well
	FailureBackend     Failure = "backend"     // nobody: where the state lives could not be reached
	FailureStateWrite  Failure = "state-write" // an operator: the state could not be saved
	FailureKilled      Failure = "killed"      // the memory limit, probably
	FailureCrashed     Failure = "crashed"     // the runtime's authors, or whatever sent it a signal
	FailureDisk        Failure = "disk"        // the size of the workdir
)

// printed matches a message as a runtime prints it. It wraps the lines of its readable text, so any space
// can be the end of a line.
//
// It is compiled when a step has failed: to compile all of them takes longer than to start a child.
func printed(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(strings.ReplaceAll(pattern, " ", `\s+`)) })
}

// texts are the messages of both runtimes, in the order of their weight: a run that lost its lock
// and could not save its state has first of all a state that is not saved.
var texts = []struct {
	failure Failure
	match   func() *regexp.Regexp
}{
	{FailureStateWrite, printed(`Failed to (save state|persist state|create local state file)|Error saving state`)},
	{FailureLockLost, printed(`(?s)Error releasing the state lock.*(state is already unlocked|does not match existing lock|leases\.coordination\.k8s\.io "[^"]*" not found|HTTP response code (404|409|423))`)},
	{FailureQuota, printed(`is forbidden: exceeded quota`)},
	{FailureRBAC, printed(`is forbidden: |is forbidden\b.*\bcannot\b|(?i)\bunauthorized\b.*kubernetes|the server has asked for the client to provide credentials|` +
		`(?s)(Error (loading|inspecting) state|Failed to (get|load) [a-z ]*(state|workspaces)|Error acquiring the state lock).*\bUnauthorized\b`)},
	{FailureCredentials, printed(`HTTP remote state endpoint (requires|invalid) auth|HTTP error: 40[13]\b|Unexpected HTTP response code 40[13]\b`)},
	// Both runtimes lock their data directory, too.
	{FailureDisk, printed(`(?s)Error acquiring the state lock.*` + diskFull)},
	{FailureBackend, printed(`(?s)Error acquiring the state lock.*` + unreachable + `|Error releasing the state lock`)},
	{FailureLocked, printed(`Error acquiring the state lock|state is already locked|remote state already locked|state already locked|` +
		// Two first runs at once: the Lease was made, or taken, between the two requests of this one.
		`leases\.coordination\.k8s\.io "[^"]*" already exists|Operation cannot be fulfilled on leases`)},
	{FailureBackend, printed(`(?s)(Error (refreshing|loading) state|Failed to (get|load|refresh|unlock) ((existing|destination|source) )?(state|workspaces)|Error inspecting states|Error reading state).*` + unreachable)},
	{FailureBackend, printed(`(Error (refreshing|loading) state|Failed to (get|load|refresh|unlock) ((destination|source) )?state|Error inspecting states).*(HTTP (response code|error):? ?5\d\d|giving up after)`)},
}

// nameless is a backend's network failure whose text does not say what it was about. After a change began, or beside
// a provider's error, it may be anybody's.
var nameless = printed(`(?s)dial tcp.*` + unreachable)

// aboutRegistry is how init names what it fetches. Its network failures read like those of a backend.
var aboutRegistry = printed(`Failed to (query available provider packages|resolve provider packages|install provider|download module)|failed to request discovery document|module registry`)

const unreachable = `(connection refused|connection reset|no such host|i/o timeout|TLS handshake timeout|network is unreachable|no route to host|Client\.Timeout|context deadline exceeded|giving up after \d+ attempt|EOF|etcdserver: |the server is currently unable|Service Unavailable|server was unable to return a response|` +
	`an error on the server .* has prevented the request from|server has received too many requests|Too many requests, please try again)`

const diskFull = `no space left on device`

var noSpace = printed(diskFull)

// transient are the failures of init that are known to pass (spec/runner.md, "Retries").
var transient = printed(`(?i)text file busy|` +
	`\b(429|500|502|503|504) (Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)|` +
	`giving up after \d+ attempt|Client\.Timeout|request canceled while waiting|TLS handshake timeout|i/o timeout|context deadline exceeded|` +
	`connection reset|connection refused|unexpected EOF|could not connect to registry|failed to request discovery document`)

// permanent are the failures of init that no repetition changes, whatever else their text says.
var permanent = printed(`(?is)checksum|does not match any of the|provider registry.{1,200}does not have a provider|no available releases match|is forbidden`)

// Classify names the class of a failed step from its exit, its diagnostics, and its text as the
// fallback. The exit code alone tells nothing: it is 1 for everything. Only a step that fetches (init) talks to
// a registry.
func Classify(exit Exit, output *Output, fetches bool) Failure {
	if class := crash(exit, output); class != "" {
		return class
	}
	own := output.everything(fromRuntime)
	provider, changes := fromProvider(output), len(output.Changes) > 0
	for _, t := range texts {
		if possible(t.failure, provider, changes) && t.match().MatchString(own) {
			return t.failure
		}
	}
	switch {
	case provider || changes:
		return FailureProvider
	case fetches && aboutRegistry().MatchString(own) && passes(output):
		return FailureRegistry
	case nameless().MatchString(own):
		return FailureBackend
	case fetches && passes(output):
		return FailureRegistry
	case noSpace().MatchString(own):
		return FailureDisk
	default:
		return FailureConfig
	}
}

var notReleased = printed(`Error releasing the state lock`)

// LeftLock tells whether a runtime said that it could not release its lock.
func (o *Output) LeftLock() bool { return notReleased().MatchString(o.everything(fromRuntime)) }

// possible tells whether a step can have failed so: one that began to change things did have the lock, and a
// provider's error weighs more than a backend or a disk that failed as well.
func possible(f Failure, provider, changes bool) bool {
	switch f {
	case FailureLocked:
		return !changes
	case FailureBackend, FailureDisk:
		return !provider
	}
	return true
}

// passes tells whether a failed init is worth repeating.
func passes(output *Output) bool {
	all := output.everything(fromRuntime)
	return transient().MatchString(all) && !permanent().MatchString(all)
}

// fromProvider tells whether a provider failed, by its errors or by dying.
func fromProvider(output *Output) bool {
	return slices.ContainsFunc(output.Errors, func(d Diagnostic) bool { return !fromRuntime(d) || strings.Contains(d.Summary, "lugin") })
}

// fromRuntime tells the errors of a runtime, its backend and the configuration from those of a provider: only the
// latter name the resource that they are about, but for those that decoding a resource's body gives. What a
// provider says of its own troubles is never about the lock, the backend or a registry.
func fromRuntime(d Diagnostic) bool { return d.Address == "" || aboutConfig.MatchString(d.Summary) }

var aboutConfig = regexp.MustCompile(`^(Missing required argument|Unsupported (argument|block type|attribute)|Invalid (reference|index|function argument|for_each argument|count argument|template|expression)|Reference to undeclared|Incorrect attribute value type|Insufficient .* blocks|Too many .* blocks)`)
