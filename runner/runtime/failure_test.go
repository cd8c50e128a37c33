package runtime

import (
	"strings"
	"syscall"
	"testing"
)

func TestClassify(t *testing.T) {
	failed := Exit{Code: 1}
	tests := []struct {
		name string
		exit Exit
		text string // what is printed, lines of -json among it; without such a line the step is init
		want Failure
	}{
		{"killed by the kernel", Exit{Code: 137, Signal: syscall.SIGKILL}, "", FailureKilled},
		{"killed by the runner", Exit{Code: 137, Signal: syscall.SIGKILL, Killed: true}, "", FailureConfig},
		{"out of memory", Exit{Code: 2}, "fatal error: runtime: out of memory\n\nruntime stack:\nruntime.throw", FailureKilled},
		{"out of memory, at its start", Exit{Code: 2}, "runtime: cannot allocate memory\nfatal error: x", FailureKilled},
		{"killed behind a shell", Exit{Code: 137}, "Killed", FailureKilled},
		{"crash", Exit{Code: 11}, "!!!! OPENTOFU CRASH !!!!\n\npanic: runtime error: index out of range", FailureCrashed},
		{"fatal signal", Exit{Code: 2}, "SIGQUIT: quit\nPC=0x47 m=0\n\ngoroutine 0", FailureCrashed},
		{"fatal signal, unhandled", Exit{Code: 139, Signal: syscall.SIGSEGV}, "", FailureCrashed},
		{"fatal signal behind a shell", Exit{Code: 139}, "Segmentation fault", FailureCrashed},
		{"not a word after a change", failed, `{"@level":"info","@message":"x: Creating...","type":"apply_start","hook":{"resource":{"addr":"a.b"},"action":"create"}}`, FailureCrashed},
		{"an error, and a crash in it", failed, "Error: Failed to load plugin\n\npanic: x", FailureConfig},
		{"lock, json", failed, `{"@level":"error","@message":"Error: Error acquiring the state lock","type":"diagnostic","diagnostic":{"severity":"error","summary":"Error acquiring the state lock","detail":"Error message: the state is already locked by another tofu client"}}`, FailureLocked},
		{"lock, http", failed, "Error: Error acquiring the state lock\n\nError message: HTTP remote state already locked:\nID=1111", FailureLocked},
		{"no user", failed, "Error refreshing state: HTTP remote state endpoint requires auth", FailureCredentials},
		{"a user who may not read", failed, "Error refreshing state: HTTP remote state endpoint invalid auth", FailureCredentials},
		{"a user who may not lock", failed, "Error: Error acquiring the state lock\n\nError message: HTTP remote state endpoint invalid\nauth", FailureCredentials},
		{"a user who may not unlock", failed, "Error: Error releasing the state lock\n\nError message: Unexpected HTTP response code 403", FailureCredentials},
		{"a user who may not write", failed, "Failed to write state: HTTP error: 403", FailureCredentials},
		{"lock without a state, tofu", failed, "Error: Failed to load state: the state is already locked by another tofu client", FailureLocked},
		{"lock without a state, terraform", failed, "Error loading state: the state is already locked by another terraform client", FailureLocked},
		{"lock of the data directory on a full disk", failed, "Error: Error locking state: [{%!s(tfdiags.Severity=69) Error acquiring the state lock Error message: could not write lock info for \"/w/.terraform/terraform.tfstate\": write /w/.terraform/.terraform.tfstate.lock.info: no space left on device", FailureDisk},
		{"full disk, wrapped", failed, "Error: Failed to install provider\n\nError while installing example.test/captf/probe v0.1.0: no space left on\ndevice", FailureDisk},
		{"a provider's full disk", failed, `{"@level":"error","@message":"Error: write","type":"diagnostic","diagnostic":{"severity":"error","summary":"write /data: no space left on device","address":"probe_file.a"}}`, FailureProvider},
		{"local lock", failed, "Error: Error acquiring the state lock\n\nError message: resource temporarily unavailable", FailureLocked},
		{"robbed of the lock", failed, "Error: Error releasing the state lock\n\nError message: state is already unlocked", FailureLockLost},
		{"unlock forbidden", failed, `Error: Error releasing the state lock

Error message: leases.coordination.k8s.io "lock-tfstate-default-x" is forbidden: User "u" cannot update resource "leases"`, FailureRBAC},
		{"unlock not answered", failed, "Error: Error releasing the state lock\n\nError message: Put \"https://10.0.0.1/x\": dial tcp 10.0.0.1:443: connect: connection refused", FailureBackend},
		{"unlock after somebody wrote the Lease", failed, "Error: Error releasing the state lock\n\nError message: Operation cannot be fulfilled on leases.coordination.k8s.io \"x\": the object has been modified", FailureBackend},
		{"unlock refused by a state server", failed, "Error: Error releasing the state lock\n\nError message: Unexpected HTTP response code 409", FailureLockLost},
		{"lock not answered", failed, "Error: Error acquiring the state lock\n\nError message: Get \"https://10.0.0.1/x\": dial tcp 10.0.0.1:443: connect: connection refused", FailureBackend},
		{"two first runs", failed, "Error: Error loading state\n\nleases.coordination.k8s.io \"lock-tfstate-default-x\" already\nexists", FailureLocked},
		{"a provider's lock", failed, `{"@level":"info","@message":"x: Creating...","type":"apply_start","hook":{"resource":{"addr":"a.b"},"action":"create"}}
{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"creating: the state is already locked","detail":"","address":"a.b"}}`, FailureProvider},
		{"lease forbidden, wrapped", failed, "Error: Error loading state\n\nleases.coordination.k8s.io \"x\" is\nforbidden: User \"u\" cannot get\nresource \"leases\"", FailureRBAC},
		{"registry 502, wrapped", failed, "Error: Failed to query available provider packages\n\nthe request failed after 2 attempts: 502 Bad\nGateway returned from registry.example", FailureRegistry},
		{"provider missing, wrapped", failed, "Error: Failed to query available provider packages\n\n502 Bad Gateway: provider registry\nr.example does not\nhave a provider named r.example/a/b", FailureConfig},
		{"state not saved", failed, "Error: Failed to save state\n\nError saving state: HTTP error: 409\n\nError: Failed to persist state to backend", FailureStateWrite},
		{"lease forbidden", failed, `Error: Error acquiring the state lock

Error message: leases.coordination.k8s.io "lock-tfstate-default-x" is forbidden: User "system:serviceaccount:a:b" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "a"`, FailureRBAC},
		{"quota at init", failed, `Error: secrets "tfstate-default-x" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1`, FailureQuota},
		{"secret forbidden at init", failed, `Error: Failed to get existing workspaces: secrets is forbidden: User "u" cannot list resource "secrets" in API group "" in the namespace "default"`, FailureRBAC},
		{"registry 502", failed, "Error: Failed to query available provider packages\n\nCould not retrieve the list of available versions for provider hashicorp/aws: could not query provider registry for registry.example/hashicorp/aws: the request failed after 2 attempts: 502 Bad Gateway returned from registry.example", FailureRegistry},
		{"registry time-out", failed, "Error: Failed to install provider\n\nError while installing hashicorp/aws v5: Get \"https://r.example/x\": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)", FailureRegistry},
		{"registry not found", failed, "Error: Failed to query available provider packages\n\nCould not retrieve the list of available versions for provider r.example/a/b: could not connect to r.example: failed to request discovery document: Get \"https://r.example/.well-known/terraform.json\": dial tcp: lookup r.example: no such host", FailureRegistry},
		{"text file busy", failed, "Error: Failed to install provider\n\nfork/exec .terraform/providers/x: text file busy", FailureRegistry},
		{"checksum", failed, "Error: Failed to install provider\n\nthe current package for r.example/a/b 1.0.0 doesn't match any of the checksums previously recorded; 502 Bad Gateway", FailureConfig},
		{"provider missing", failed, "Error: Failed to query available provider packages\n\nprovider registry r.example does not have a provider named r.example/a/b", FailureConfig},
		{"state server gone, tofu", failed, "Error: Error refreshing state\n\nFailed to get state: GET http://127.0.0.1:1/ giving up after 1 attempt(s): Get \"http://127.0.0.1:1/\": dial tcp 127.0.0.1:1: connect: connection refused", FailureBackend},
		{"API server gone", failed, "Error: Failed to get existing workspaces: Get \"https://10.0.0.1/api/v1/namespaces/x/secrets\": dial tcp 10.0.0.1:443: connect: connection refused", FailureBackend},
		{"API server behind a bad gateway, wrapped", failed, "Error: Error loading state: an error on the server (\"bad gateway\") has prevented the request from\nsucceeding (post leases.coordination.k8s.io)", FailureBackend},
		{"API server behind a bad gateway, at the lock", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"Error acquiring the state lock","detail":"Error message: an error on the server (\"bad gateway\") has prevented the request from succeeding (get leases.coordination.k8s.io x)"}}`, FailureBackend},
		{"API server that is too busy", failed, "Error: Failed to get existing workspaces: the server has received too many requests and has asked us to try again later (get secrets)", FailureBackend},
		{"token expired", failed, "Error: Failed to get existing workspaces: Unauthorized", FailureRBAC},
		{"token expired, terraform", failed, "Error loading state: Unauthorized", FailureRBAC},
		{"backend argument", failed, "Error: Invalid backend configuration argument\n\nThe backend configuration argument \"adress\" given on the command line is not expected", FailureConfig},
		{"provider", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"creating EC2 instance: no capacity","detail":"","address":"aws_instance.a"}}`, FailureProvider},
		{"configuration of a resource", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"Missing required argument","detail":"","address":"aws_instance.a"}}`, FailureConfig},
		{"configuration", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"Reference to undeclared input variable","detail":""}}`, FailureConfig},
		{"a provider's own network", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"reading EC2 instance","detail":"dial tcp 10.0.0.1:443: i/o timeout; 503 Service Unavailable","address":"aws_instance.a"}}`, FailureProvider},
		{"a provider's network after a change began", failed, `{"@level":"info","@message":"x: Creating...","type":"apply_start","hook":{"resource":{"addr":"a.b"},"action":"create"}}
{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"TLS handshake timeout","detail":"dial tcp 10.0.0.1:443: i/o timeout"}}`, FailureProvider},
		{"no registry in an apply", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"503 Service Unavailable","detail":"context deadline exceeded"}}`, FailureConfig},
		{"the backend's network in an apply", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"Get \"https://10.0.0.1/x\"","detail":"dial tcp 10.0.0.1:443: i/o timeout"}}`, FailureBackend},
		{"a provider's refusal", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"configmaps is forbidden: User u cannot create","address":"kubernetes_config_map.a"}}`, FailureProvider},
		{"a provider's error, then the unlock is forbidden", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"no capacity","address":"a.b"}}
{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"Error releasing the state lock","detail":"leases \"x\" is forbidden: User u cannot update"}}`, FailureRBAC},
		{"unlock by force not answered", failed, "Failed to unlock state: the server is currently unable to handle the request", FailureBackend},
		{"plug-in crash", failed, `{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"Plugin did not respond","detail":""}}`, FailureProvider},
		{"colour codes decide nothing", failed, "\x1b[31mError: \x1b[0mError acquiring the state lock", FailureLocked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := reader{sink: Discard, output: &Output{}}
			for line := range strings.Lines(tt.text) {
				r.line([]byte(strings.TrimSuffix(line, "\n")))
			}
			if got := Classify(tt.exit, r.output, !strings.Contains(tt.text, `{"@level"`)); got != tt.want {
				t.Errorf("class = %s, want %s", got, tt.want)
			}
		})
	}
}

// TestConcluded has steps that end at some moment: only one that has said how it ended has saved its state.
func TestConcluded(t *testing.T) {
	const (
		reads    = `{"@message":"x","type":"apply_start","hook":{"resource":{"addr":"data.a.b"},"action":"read"}}`
		read     = `{"@message":"x","type":"apply_complete","hook":{"resource":{"addr":"data.a.b"},"action":"read"}}`
		starts   = `{"@message":"x","type":"apply_start","hook":{"resource":{"addr":"a.b"},"action":"create"}}`
		ends     = `{"@message":"x","type":"apply_complete","hook":{"resource":{"addr":"a.b"},"action":"create"}}`
		planned  = `{"@message":"x","type":"change_summary","changes":{"add":1,"operation":"plan"}}`
		applied  = `{"@message":"x","type":"change_summary","changes":{"add":1,"operation":"apply"}}`
		warning  = `{"@message":"x","type":"diagnostic","diagnostic":{"severity":"warning","summary":"x"}}`
		failure  = `{"@message":"x","type":"diagnostic","diagnostic":{"severity":"error","summary":"no capacity"}}`
		stopping = `{"@message":"x","type":"diagnostic","diagnostic":{"severity":"error","summary":"Error saving current state"}}`
		pressed  = `{"@message":"x","type":"diagnostic","diagnostic":{"severity":"error","summary":"operation canceled"}}`
	)
	for name, row := range map[string]struct {
		lines []string
		broke bool
	}{
		"planned":                    {[]string{planned}, false},
		"planned with a data source": {[]string{reads, read, planned}, false},
		"applied":                    {[]string{planned, starts, ends, applied}, false},
		"failed":                     {[]string{planned, starts, ends, failure}, false},
		"in flight":                  {[]string{planned, starts}, true},
		"done, and not a word":       {[]string{planned, starts, ends}, true},
		"only a warning":             {[]string{starts, ends, warning}, true},
		"could not save on the way":  {[]string{starts, ends, stopping}, true},
		"pressed to end":             {[]string{starts, ends, pressed}, true},
		"an error, then it works on": {[]string{starts, failure, ends}, true},
	} {
		r := reader{sink: Discard, output: &Output{}}
		for _, line := range row.lines {
			r.line([]byte(line))
		}
		if got := r.output.Broke(); got != row.broke {
			t.Errorf("%s: broke = %v, want %v", name, got, row.broke)
		}
	}
}

// TestTailOfFramedError has a command that knows no -no-color: a frame is no part of its message.
func TestTailOfFramedError(t *testing.T) {
	o := TextOutput("╷\n│ Error: Failed to write state\n│ \n│ secrets \"x\" is forbidden: User\n│ \"y\" cannot update\n│ \n│ Ask:\n│   - them\n│   - us\n╵\n")
	if got, want := o.Tail(), "Failed to write state: secrets \"x\" is forbidden: User \"y\" cannot update\nAsk:\n  - them\n  - us"; got != want {
		t.Errorf("tail = %q, want %q", got, want)
	}
}

func TestTailOfCrash(t *testing.T) {
	o := TextOutput("some line\nfatal error: out of memory\n\ngoroutine 1 [running]:\nrax 0x0\nrbx 0x1\nrcx 0x2\nrdx 0x3\nrdi 0x4\nrsi 0x5\n")
	if got, want := o.Tail(), "fatal error: out of memory"; got != want {
		t.Errorf("tail = %q, want %q", got, want)
	}
}
