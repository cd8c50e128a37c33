package runner

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// The texts are those of both runtimes, as `state push` prints and wraps them.
func TestPushError(t *testing.T) {
	tests := []struct {
		name, text       string
		refused, forever bool
	}{
		{"other lineage", "Failed to write state: cannot import\nstate with lineage \"a\" over unrelated state with lineage \"b\"", true, true},
		{"newer serial", "cannot import state with serial 3 over\nnewer state with serial 5", true, true},
		{"same serial", "cannot overwrite existing state with serial 5 with a different state that has the same serial", true, true},
		{"conflict of a state server", "Error saving state: HTTP error: 409", true, true},
		{"no right", `secrets "tfstate-default-x" is forbidden: User "u" cannot update resource "secrets"`, false, false},
		{"too large for a Secret", `Secret "tfstate-default-x" is invalid: data: Too long: must have at most 1048576 bytes`, false, true},
		{"too large for a Secret, as newer servers say it", `Secret "tfstate-default-x" is invalid: data: Too long: may not be more than 1048576 bytes`, false, true},
		{"too large for a state server", "HTTP error: 413", false, true},
		{"cut short, as OpenTofu says it", "- Unsupported state file\nformat: The state file could not be parsed as JSON", false, true},
		{"cut short, as Terraform says it", "Error reading source state \"-\": no state", false, true},
		{"wrong password", "HTTP error: 401", false, true},
		{"locked", "Error acquiring the state lock: the state is already locked by another tofu client", false, false},
		{"locked on a state server", "HTTP error: 423", false, false},
		{"too many requests", "HTTP error: 429", false, false},
		{"state server down", "Failed to upload state: POST http://x giving up after 3 attempt(s)", false, false},
		{"API server down", "dial tcp 127.0.0.1:6443: connect: connection refused", false, false},
	}
	for _, tt := range tests {
		err := pushError(tt.text)
		var permanent *backoff.PermanentError
		if errors.Is(err, errRefused) != tt.refused || errors.As(err, &permanent) != tt.forever {
			t.Errorf("%s: %v: refused %v, permanent %v; want %v, %v", tt.name, err, errors.Is(err, errRefused), errors.As(err, &permanent), tt.refused, tt.forever)
		}
	}
}

// TestPusherGivesUp has tries fail: only where another one may go better it is made.
func TestPusherGivesUp(t *testing.T) {
	unreachable, forbidden, full := errors.New("connection refused"), fmt.Errorf("%w: secrets", errForbidden), errors.New("disk is full")
	for name, row := range map[string]struct {
		err, fault error
		since      time.Duration // the first try that was forbidden
		forever    bool
	}{
		"unreachable":              {err: unreachable},
		"forbidden":                {err: forbidden},
		"forbidden for a while":    {err: forbidden, since: forbiddenTime / 2},
		"forbidden for long":       {err: forbidden, since: forbiddenTime + time.Second, forever: true},
		"unreachable after that":   {err: unreachable, since: forbiddenTime + time.Second},
		"the disk of a local run":  {err: unreachable, fault: full, forever: true},
		"saved in spite of a disk": {fault: full},
	} {
		p := &pusher{once: func(int) error { return row.err }, fault: func() error { return row.fault }}
		if row.since > 0 {
			p.forbidden = time.Now().Add(-row.since)
		}
		err := p.try()
		var permanent *backoff.PermanentError
		if (err != nil) != (row.err != nil) || errors.As(err, &permanent) != row.forever {
			t.Errorf("%s: %v, permanent %v, want %v", name, err, errors.As(err, &permanent), row.forever)
		}
	}
}

func TestSameContent(t *testing.T) {
	const state = `{"serial":1,"lineage":"a","outputs":{"x":{"value":1}},"resources":[{"type":"t","instances":[{"attributes":{"id":"1"}}]}]}`
	for name, row := range map[string]struct {
		other string
		want  bool
	}{
		"under another serial":   {strings.Replace(state, `"serial":1,"lineage":"a"`, `"serial":3,"lineage":"b"`, 1), true},
		"another object":         {strings.Replace(state, `"id":"1"`, `"id":"2"`, 1), false},
		"another output":         {strings.Replace(state, `"value":1`, `"value":2`, 1), false},
		"none was read":          {"", false},
		"nothing that proves it": {`{"serial":1,"lineage":"a","outputs":{},"resources":[]}`, false},
	} {
		if got := sameContent([]byte(state), []byte(row.other)); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

// TestPushNotStarted has a push that may open too few files: it is not tried again and again, and says what to do.
func TestPushNotStarted(t *testing.T) {
	var permanent *backoff.PermanentError
	few := pushNotStarted(&os.PathError{Op: "fork/exec", Path: "tofu", Err: syscall.EMFILE})
	if !errors.As(few, &permanent) || !strings.Contains(few.Error(), "raise the limit of open files") {
		t.Errorf("too few open files: %v, want it to be permanent, and the way out", few)
	}
	if busy := pushNotStarted(syscall.EAGAIN); errors.As(busy, &permanent) {
		t.Errorf("%v is permanent", busy)
	}
}
