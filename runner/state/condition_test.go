package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestReadable(t *testing.T) {
	sum := &Summary{InputsHash: "h2:1"}
	condition := func(status, reason string) Condition {
		return Condition{Type: "StateReadable", Status: status, Reason: reason}
	}
	tests := map[string]struct {
		err  error
		want Condition
		says string
	}{
		"read":             {nil, condition("True", "StateRead"), ""},
		"not found":        {readError(Source{Suffix: testSuffix}), condition("Unknown", "StateNotFound"), base},
		"lost":             {readError(Source{Suffix: testSuffix, Applied: true}), condition("False", "StateLost"), "restore a backup"},
		"inconsistent":     {readError(Source{Suffix: testSuffix, Chunks: []Chunk{{Name: "x"}}}), condition("False", "StateInconsistent"), "secret x"},
		"corrupt":          {readError(source([]byte("x"))), condition("False", "StateCorrupt"), "gzip"},
		"encrypted":        {readError(source(gz(testdata(t, "tofu-encrypted.json")))), condition("False", "StateEncrypted"), "OpenTofu"},
		"without a hash":   {(&Summary{}).CheckInputs("h2:1"), condition("False", "StateWithoutInputsHash"), AnnotationInputsHash},
		"of today":         {sum.CheckInputs("h2:1"), condition("True", "StateRead"), ""},
		"of other inputs":  {sum.CheckInputs("h2:2"), condition("False", "InputsChanged"), "h2:2"},
		"locked":           {LockedBy("lock 1 held by ann@laptop for OperationTypeApply since 2026"), condition("False", "StateLocked"), "ann@laptop"},
		"wrapped":          {fmt.Errorf("read: %w", readError(source([]byte("x")))), condition("False", "StateCorrupt"), "read: "},
		"no answer":        {errors.New("connection refused"), condition("Unknown", "StateUnavailable"), "connection refused"},
		"terminal escapes": {LockedBy("\x1b[31mann\x1b[0m\x07"), condition("False", "StateLocked"), ": ann:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Readable(tt.err)
			if !strings.Contains(got.Message, tt.says) || (tt.says == "") != (got.Message == "") {
				t.Errorf("message %q, want one with %q", got.Message, tt.says)
			}
			got.Message = ""
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func readError(s Source) error {
	_, err := s.Read()
	return err
}

// TestReadableBounded has a message of 40 KB, which the API server would refuse. cases.md 65.
func TestReadableBounded(t *testing.T) {
	got := Readable(errors.New(strings.Repeat("ü", 20_000))).Message
	if len(got) > MaxMessage || len(got) < MaxMessage-2 || !utf8.ValidString(got) || !strings.HasSuffix(got, "[cut]") {
		t.Errorf("%d bytes that end with %q", len(got), got[len(got)-10:])
	}
	whole := strings.Repeat("x", MaxMessage)
	if got := Readable(errors.New(whole)).Message; got != whole {
		t.Error("a message that fits is cut")
	}
}

func TestReasonOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Reason
	}{{nil, ""}, {errors.New("x"), Unavailable}, {fmt.Errorf("x: %w", &Error{Reason: Lost, Err: errors.New("y")}), Lost}} {
		if got := ReasonOf(tt.err); got != tt.want {
			t.Errorf("ReasonOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// A retry of the same inputs is no change of them; other inputs, such as a new nonce, are. cases.md 70.
func TestRetryNonce(t *testing.T) {
	hash := func(nonce string) string {
		h, err := Inputs{Contract: "1", Role: "machine", Inputs: map[string]any{"retry": nonce}}.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	sum := &Summary{InputsHash: hash("1")}
	if err := sum.CheckInputs(hash("1")); err != nil {
		t.Errorf("same nonce: %v", err)
	}
	if err := sum.CheckInputs(hash("2")); !errors.Is(err, InputsChanged) {
		t.Errorf("new nonce: %v", err)
	}
}
