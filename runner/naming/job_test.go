package naming

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestJobName(t *testing.T) {
	tests := map[string]struct {
		object  Object
		op      Op
		attempt int
		want    string
	}{
		"short":            {obj(Machine, "worker-0"), Apply, 1, "captf-m-worker-0-apply-a1-380fa3"},
		"next attempt":     {obj(Machine, "worker-0"), Apply, 2, "captf-m-worker-0-apply-a2-dc2744"},
		"exactly 57":       {obj(Cluster, strings.Repeat("x", 34)), Plan, 1, "captf-c-" + strings.Repeat("x", 34) + "-plan-a1-c6fa35"},
		"58 is hashed":     {obj(Cluster, strings.Repeat("x", 35)), Plan, 1, "captf-c-efa79bd8bf70266b-plan-a1-c6fa35"},
		"dot is hashed":    {obj(MachinePool, "a.b"), Drift, 1, "captf-mp-2e7336dc8eba87ef-drift-a1-eb907b"},
		"hash is hashed":   {obj(Machine, "0123456789abcdef"), Drift, 1, "captf-m-9f9f5111f7b27a78-drift-a1-eb907b"},
		"16 but no hash":   {obj(Machine, "worker-of-nobody"), Drift, 1, "captf-m-worker-of-nobody-drift-a1-eb907b"},
		"hex but no hash":  {obj(Machine, "cafe"), Drift, 1, "captf-m-cafe-drift-a1-eb907b"},
		"longest possible": {obj(MachinePool, strings.Repeat("x", 253)), Destroy, MaxAttempt, "captf-mp-1329e1bd71a6a7b2-destroy-a999999999-44d5ec"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := JobName(tt.object, tt.op, tt.attempt, "h2:00", "t")
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want || len(got) > MaxJobName {
				t.Errorf("got %q (%d characters), want %q", got, len(got), tt.want)
			}
		})
	}
}

func TestJobNameRefuses(t *testing.T) {
	for _, tt := range []struct {
		object  Object
		op      Op
		attempt int
		want    string
	}{
		{Object{Kind: "Pod", Namespace: "n", Name: "x"}, Apply, 1, `kind "Pod" is unknown`},
		{obj(Machine, "x"), "import", 1, `operation "import" is unknown`},
		{obj(Machine, "x"), Apply, 0, "attempt 0 is not between 1 and 999999999"},
		{obj(Machine, "x"), Apply, MaxAttempt + 1, "attempt 1000000000 is not between"},
	} {
		_, err := JobName(tt.object, tt.op, tt.attempt, "h2:00", "")
		wantError(t, err, tt.want)
	}
}

// Each part of the identity of a run changes its name.
func TestJobNameTellsRunsApart(t *testing.T) {
	seen := map[string]string{}
	for _, run := range [][2]string{{"h2:00", ""}, {"h2:01", ""}, {"h2:00", "1"}, {"h2:00", "2"}} {
		got, err := JobName(obj(Machine, "x"), Drift, 1, run[0], run[1])
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("runs %q and %q are both called %s", run, other, got)
		}
		seen[got] = fmt.Sprint(run)
	}
}

func TestNextAttempt(t *testing.T) {
	o := obj(Machine, "x")
	names := []string{
		"captf-m-x-apply-a9-abcdef", "captf-m-x-apply-a10-abcdef", "captf-m-x-destroy-a30-abcdef",
		"captf-m-y-apply-a40-abcdef", "captf-m-x-apply-a50-abcdeg", "captf-m-x-apply-a060-abcdef", "",
	}
	if got := NextAttempt(o, Apply, names); got != 11 {
		t.Errorf("got %d, want 11", got)
	}
	if got := NextAttempt(o, Plan, names); got != 1 {
		t.Errorf("with no Job: got %d, want 1", got)
	}
}

func TestOwnsPod(t *testing.T) {
	x := obj(Machine, "x")
	tricky := obj(Machine, "x-apply-a1-abcdef")
	tests := []struct {
		object Object
		pod    string
		want   bool
	}{
		{x, "captf-m-x-apply-a1-abcdef-bcd42", true},
		{x, "captf-m-x-restore-a120-012345-zzzzz", true},
		{obj(Machine, strings.Repeat("x", 40)), "captf-m-" + shortHash(strings.Repeat("x", 40)) + "-apply-a1-abcdef-bcd42", true},
		{tricky, "captf-m-x-apply-a1-abcdef-apply-a1-abcdef-bcd42", true},

		{x, "captf-m-x-apply-a1-abcdef-apply-a1-abcdef-bcd42", false}, // tricky's
		{tricky, "captf-m-x-apply-a1-abcdef-bcd42", false},            // x's
		{obj(Cluster, "x"), "captf-m-x-apply-a1-abcdef-bcd42", false},
		{obj(Machine, "p-x"), "captf-mp-x-apply-a1-abcdef-bcd42", false},
		{obj(MachinePool, "x"), "captf-m-p-x-apply-a1-abcdef-bcd42", false},
		{x, "captf-m-x-apply-a1-abcdef", false},                                      // the Job itself
		{x, "captf-m-x-apply-a1-abcdef-bcd4", false},                                 // short random part
		{x, "captf-m-x-apply-a1-abcdef-bcd421", false},                               // long random part
		{x, "captf-m-x-apply-a1-abcdef-Bcd42", false},                                // upper case
		{x, "captf-m-x-apply-a1-abcdefxbcd42", false},                                // no hyphen
		{x, "captf-m-x-apply-a1-abcde-bcd42", false},                                 // short hash
		{x, "captf-m-x-apply-a1-ABCDEF-bcd42", false},                                // upper case hash
		{x, "captf-m-x-apply-a1-abcdeg-bcd42", false},                                // not hex
		{x, "captf-m-x-apply-a0-abcdef-bcd42", false},                                // no such attempt
		{x, "captf-m-x-apply-a1000000000-abcdef-bcd42", false},                       // no such attempt
		{x, "captf-m-x-apply-a01-abcdef-bcd42", false},                               // leading zero
		{x, "captf-m-x-apply-a+1-abcdef-bcd42", false},                               // sign
		{x, "captf-m-x-apply-1-abcdef-bcd42", false},                                 // no attempt
		{x, "captf-m-x-import-a1-abcdef-bcd42", false},                               // no such op
		{x, "captf-m-apply-a1-abcdef-bcd42", false},                                  // no name
		{x, " captf-m-x-apply-a1-abcdef-bcd42", false},                               // white space
		{x, "workstation", false},                                                    //
		{x, "", false},                                                               //
		{Object{}, "captf---apply-a1-abcdef-bcd42", false},                           // no object
		{Object{Kind: Machine, Name: "x"}, "captf-m-x-apply-a1-abcdef-bcd42", false}, // no namespace
		{obj(Machine, strings.Repeat("x", 40)), "captf-m-" + strings.Repeat("x", 40) + "-apply-a1-abcdef-bcd42", false},
		{obj(Machine, shortHash("a.b")), "captf-m-" + shortHash("a.b") + "-apply-a1-abcdef-bcd42", false},
	}
	for _, tt := range tests {
		if got := OwnsPod(tt.object, tt.pod); got != tt.want {
			t.Errorf("OwnsPod(%s, %q) = %v, want %v", tt.object, tt.pod, got, tt.want)
		}
	}
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Every pod of an object is its own, and no other object's.
func FuzzPodOwnership(f *testing.F) {
	f.Add("x", "x-apply-a1-abcdef", byte(0), byte(1), byte(0), 1, "h2:00", "", "bcd42")
	f.Add("x-apply-a1-abcdef", "x", byte(1), byte(1), byte(0), 1, "h2:00", "", "bcd42")
	f.Add("p-x", "x", byte(1), byte(2), byte(1), 7, "h2:00", "1", "00000")
	f.Add("a.b", shortHash("a.b"), byte(1), byte(1), byte(4), MaxAttempt, "", "", "aaaaa")
	f.Add(strings.Repeat("x", 57), shortHash(strings.Repeat("x", 57)), byte(2), byte(2), byte(1), 10, "h", "t", "x")
	f.Add("captf-m-x", "captf-m-x-plan-a1-000000", byte(1), byte(0), byte(5), 3, "h", "t", "plan1")
	f.Fuzz(func(t *testing.T, name, other string, kind, otherKind, op byte, attempt int, hash, tick, random string) {
		o := obj(Kinds()[int(kind)%len(Kinds())], asName(name))
		third := obj(Kinds()[int(otherKind)%len(Kinds())], asName(other))
		job, err := JobName(o, Ops()[int(op)%len(Ops())], attempt, hash, tick)
		if err != nil {
			return
		}
		if len(job) > MaxJobName || !dnsLabel.MatchString(job) {
			t.Fatalf("%q is not a DNS label of at most %d", job, MaxJobName)
		}
		pod := job + "-" + (random + "bcd42")[:podRandom]
		if wellFormed := dnsLabel.MatchString(pod) && !strings.Contains(pod[len(job)+1:], "-"); OwnsPod(o, pod) != wellFormed {
			t.Errorf("OwnsPod(%s, its own %q) = %v", o, pod, !wellFormed)
		}
		if third != o && OwnsPod(third, pod) {
			t.Errorf("%s owns %q of %s", third, pod, o)
		}
		if j, ok := ParseJob(o, job); !ok || j.Attempt != attempt || j.Op != Ops()[int(op)%len(Ops())] {
			t.Errorf("ParseJob(%q) = %v, %v", job, j, ok)
		}
	})
}

// asName turns any text into an object's name, and leaves a valid one alone.
func asName(s string) string {
	if isDNSSubdomain(s) {
		return s
	}
	const alphabet = "aaef01-.x-plyr"
	name := []byte(s)
	for i, c := range name {
		name[i] = alphabet[int(c)%len(alphabet)]
	}
	return "x" + string(name) + "x"
}

func obj(k Kind, name string) Object { return Object{Kind: k, Namespace: "default", Name: name} }
