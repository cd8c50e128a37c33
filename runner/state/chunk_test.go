package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const base = "tfstate-default-" + testSuffix

func TestOrdered(t *testing.T) {
	many := make([]string, MaxChunks+1)
	for i := range many {
		many[i] = fmt.Sprintf("%s-part-%d", base, i)
	}
	tests := map[string]struct {
		names  []string
		want   []string
		reason Reason
		secret string // that the error names
	}{
		"base":        {names: []string{base}, want: []string{base}},
		"numerically": {names: parts(10, 2, 0, 9, 1, 3, 8, 4, 7, 5, 6, 11), want: parts(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)},
		"none":        {reason: NotFound},
		"33":          {names: many, reason: Corrupt},
		"gap":         {names: parts(0, 1, 3), reason: Inconsistent, secret: base + "-part-2"},
		"no base":     {names: parts(1), reason: Inconsistent, secret: base},
		"duplicate":   {names: parts(0, 1, 1), reason: Inconsistent, secret: base + "-part-1"},
		"foreign":     {names: []string{base, "somebody-elses"}, reason: Inconsistent, secret: "somebody-elses"},
		"foreign one": {names: []string{"somebody-elses"}, reason: Inconsistent, secret: "somebody-elses"},
		"other state": {names: []string{base, "tfstate-prod-" + testSuffix}, reason: Inconsistent, secret: "tfstate-prod-" + testSuffix},
		"part 0":      {names: []string{base, base + "-part-0"}, reason: Inconsistent, secret: base + "-part-0"},
		"part 01":     {names: []string{base, base + "-part-01"}, reason: Inconsistent, secret: base + "-part-01"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := Source{Suffix: testSuffix}
			for _, n := range tt.names {
				s.Chunks = append(s.Chunks, Chunk{Name: n, Data: []byte{}})
			}
			got, err := s.Ordered()
			wantReason(t, err, tt.reason, tt.secret)
			var names []string
			for _, c := range got {
				names = append(names, c.Name)
			}
			if diff := cmp.Diff(tt.want, names); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func parts(numbers ...int) []string {
	var names []string
	for _, n := range numbers {
		if n == 0 {
			names = append(names, base)
		} else {
			names = append(names, fmt.Sprintf("%s-part-%d", base, n))
		}
	}
	return names
}

// The message of a gap has all that is there and all that is missing.
func TestOrderedGap(t *testing.T) {
	s := Source{Suffix: testSuffix}
	for _, n := range parts(6, 1, 3) {
		s.Chunks = append(s.Chunks, Chunk{Name: n, Data: []byte{}})
	}
	_, err := s.Ordered()
	wantReason(t, err, Inconsistent, base)
	for _, want := range [][]string{parts(0, 2, 4, 5), parts(1, 3, 6)} {
		if !strings.Contains(err.Error(), strings.Join(want, ", ")+";") && !strings.Contains(err.Error(), strings.Join(want, ", ")+":") {
			t.Errorf("%v does not list %v", err, want)
		}
	}
	s.Chunks = append(s.Chunks, Chunk{Name: base + "-part-2000000000", Data: []byte{}})
	if _, err := s.Ordered(); len(err.Error()) > 4096 {
		t.Errorf("%d bytes for a gap", len(err.Error()))
	}
}

func TestOrderedWithoutData(t *testing.T) {
	_, err := Source{Suffix: testSuffix, Chunks: []Chunk{{Name: base}}}.Ordered()
	wantReason(t, err, Inconsistent, base)
}

func TestOrderedLost(t *testing.T) {
	_, err := Source{Suffix: testSuffix, Applied: true}.Ordered()
	wantReason(t, err, Lost, "")
	if !strings.Contains(err.Error(), base+" does not exist") {
		t.Errorf("%v does not name the Secret", err)
	}
}

// https://github.com/hashicorp/terraform/issues/33995
func TestSuffixThatEndsInANumber(t *testing.T) {
	got, err := Source{Suffix: "sbx-390", Chunks: []Chunk{{Name: "tfstate-default-sbx-390", Data: []byte{}}}}.Ordered()
	if err != nil || len(got) != 1 {
		t.Errorf("got %v, %v, want chunk 0", got, err)
	}
}

func TestConditionStatus(t *testing.T) {
	for _, r := range []Reason{Lost, Inconsistent, Corrupt, Encrypted, WithoutInputsHash, InputsChanged} {
		if got := r.ConditionStatus(); got != "False" {
			t.Errorf("%s: %s", r, got)
		}
	}
	if got := NotFound.ConditionStatus(); got != "Unknown" {
		t.Errorf("%s: %s", NotFound, got)
	}
}

// wantReason checks an error's reason, none if it is empty, and its Secret.
func wantReason(t *testing.T, err error, want Reason, secret string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Fatalf("got error %v, want none", err)
		}
		return
	}
	var e *Error
	if !errors.Is(err, want) || !errors.As(err, &e) {
		t.Fatalf("got error %v, want %s", err, want)
	}
	if e.Reason != want || e.Secret != secret {
		t.Errorf("got reason %s, secret %q, want %s, %q (%v)", e.Reason, e.Secret, want, secret, err)
	}
}
