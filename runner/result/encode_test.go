package result

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// full returns a result with every optional part, and n entries in each list.
func full(n int) *Result {
	r := &Result{
		Op:      "drift",
		Image:   Image{Ref: "registry.example/module:v1", ProvidersMirror: true},
		Runtime: Runtime{Command: []string{"/captf/runtime"}, Version: "1.12.6"},
		Error:   &Error{Kind: KindStep, Reason: ReasonProvider, Step: "apply", Tail: strings.Repeat("tail ", 20*n)},
		Changes: &Changes{Add: 1, Change: 2, Destroy: 3, Import: 4},
		Plan:    &Plan{Hash: "p2:" + strings.Repeat("0", 64), Create: 1, Update: 2, Replace: 3, Delete: 4, OutputChanges: 5, Import: 6, Move: 7, Forget: 8},
		Drift:   &Drift{Detected: true, Create: 1, Update: 2, Replace: 3, Delete: 4, Resources: []Change{}},
		Lock: &Lock{
			WaitedSeconds: Seconds(3 * time.Second), ID: "1dc81f46", Who: "root@pod", Operation: "OperationTypeApply",
			Created: "2026-11-30T01:47:54Z", ForceUnlock: &ForceUnlock{ID: "2e", Outcome: OutcomeReleased},
		},
		State:    &State{Saved: SavedRescued, Serial: new(uint64(7)), Lineage: "9c1e", Where: "captf-rescue-x-7"},
		Env:      &Env{Dropped: []string{}},
		Document: "captf-m-x-drift-a1-abcdef-result",
	}
	for i := range n {
		r.Steps = append(r.Steps, Step{Name: fmt.Sprintf("step-%03d", i), Exit: i, Seconds: Seconds(time.Second), Attempts: 2, Signal: "SIGKILL", MaxRSSKiB: 1024})
		r.Error.Resources = append(r.Error.Resources, ErrorResource{fmt.Sprintf("aws_instance.failed[%d]", i), "no capacity"})
		r.Plan.Resources = append(r.Plan.Resources, Change{fmt.Sprintf("aws_instance.planned[%d]", i), "update"})
		r.Drift.Resources = append(r.Drift.Resources, Change{fmt.Sprintf("aws_instance.drifted[%d]", i), "delete"})
		r.Env.Dropped = append(r.Env.Dropped, fmt.Sprintf("TF_VAR_%03d", i))
	}
	return r
}

// decode checks what holds for every document and returns its content.
func decode(t *testing.T, doc []byte) *Result {
	t.Helper()
	if len(doc) > MaxSize || !utf8.Valid(doc) {
		t.Fatalf("%d bytes, valid UTF-8 %v", len(doc), utf8.Valid(doc))
	}
	r, err := Decode(doc)
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return r
}

// The document of a run that had nothing to report: what is never left out.
func TestEncodeLeast(t *testing.T) {
	got := string(Encode(&Result{Op: "apply"}))
	want := `{"version":1,"op":"apply","image":{"ref":"","providersMirror":false},"runtime":{"command":[],"version":""},"steps":[],"error":null,"drift":null}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = string(Encode(&Result{Error: &Error{Kind: KindImageLayout}, Drift: &Drift{}, Env: &Env{}, Lock: &Lock{}, State: &State{Saved: SavedNormally}, Unsaved: &Unsaved{}, Partial: true}))
	want = `{"version":1,"op":"","image":{"ref":"","providersMirror":false},"runtime":{"command":[],"version":""},"steps":[],` +
		`"error":{"kind":"image-layout","step":"","tail":""},"drift":{"detected":false,"create":0,"update":0,"replace":0,"delete":0,"resources":[]},` +
		`"lock":{"waitedSeconds":0},"state":{"saved":"saved"},"unsaved":{"count":0,"resources":[]},"env":{"dropped":[]},"partial":true}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEncodeWhole(t *testing.T) {
	r := full(3)
	want := *r
	want.Version = Version
	if diff := cmp.Diff(&want, decode(t, Encode(r))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEncodeCleansText(t *testing.T) {
	doc := Encode(&Result{
		Error: &Error{Tail: "\x1b[31mError:\x1b[0m a<b\xff", Resources: []ErrorResource{{"a", "\x1b[1mbold\x1b[0m"}}},
		Lock:  &Lock{Who: "\x1b[33mroot\x1b[0m@h", Operation: "\x1b[1mplan"},
		Image: Image{Ref: "a\xffb"},
	})
	if !bytes.Contains(doc, []byte("a<b")) {
		t.Errorf("%s spends bytes on HTML escapes", doc)
	}
	got := decode(t, doc)
	if got.Error.Tail != "Error: a<b\ufffd" || got.Error.Resources[0].Summary != "bold" || got.Lock.Who != "root@h" ||
		got.Lock.Operation != "plan" || got.Image.Ref != "a\ufffdb" {
		t.Errorf("got %+v, %+v, %+v", got.Error, got.Lock, got.Image)
	}
}

// lost says, for each step of the ladder in the spec's order, whether got lacks
// anything of want, and whether nothing is left.
func lost(want, got *Result) (some, all []bool) {
	add := func(had, left int) {
		some = append(some, left < had)
		all = append(all, left == 0)
	}
	count := func(c *Changes) int {
		if c == nil {
			return 0
		}
		return 1
	}
	add(count(want.Changes), count(got.Changes))
	add(len(want.Error.Resources), len(got.Error.Resources))
	add(len(Tail(want.Error.Tail)), len(got.Error.Tail))
	add(len(want.Plan.Resources), len(got.Plan.Resources))
	add(len(want.Drift.Resources), len(got.Drift.Resources))
	add(len(want.Steps), len(got.Steps))
	return some, all
}

// checkOrder checks that a part is touched only when all before it are gone.
func checkOrder(t *testing.T, want, got *Result) {
	t.Helper()
	some, all := lost(want, got)
	for i := 1; i < len(some); i++ {
		if some[i] && slices.Contains(all[:i], false) {
			t.Errorf("part %d is cut although one before it is left: %v, %v", i, some, all)
		}
	}
}

// Each size ends at another point of the ladder.
func TestEncodeOrder(t *testing.T) {
	reached := map[int]bool{}
	for n := range 120 {
		r := full(n)
		got := decode(t, Encode(r))
		checkOrder(t, r, got)
		some, _ := lost(r, got)
		for part, cut := range some {
			reached[part] = reached[part] || cut
		}
		if got.Plan.Truncated != (len(got.Plan.Resources) < n) || got.Drift.Truncated != (len(got.Drift.Resources) < n) {
			t.Errorf("n=%d: truncated %v and %v with %d and %d left", n, got.Plan.Truncated, got.Drift.Truncated, len(got.Plan.Resources), len(got.Drift.Resources))
		}
	}
	if len(reached) != 6 || slices.Contains([]bool{reached[0], reached[1], reached[2], reached[3], reached[4], reached[5]}, false) {
		t.Errorf("parts cut: %v, want all six", reached)
	}
}

// The last things to go are steps, then the names of dropped variables, then resources that no state knows.
func TestEncodeOrderOfTheLast(t *testing.T) {
	const steps = 60
	for _, tt := range []struct {
		name             string
		dropped, unsaved int
		whole            func(got *Result) bool // what has to be left as it was
		gone             func(got *Result) bool // what has to be gone before
		some             func(got *Result) int  // what is cut
	}{
		{"steps", 5, 5,
			func(got *Result) bool { return len(got.Env.Dropped) == 5 && len(got.Unsaved.Resources) == 5 },
			func(*Result) bool { return true },
			func(got *Result) int { return len(got.Steps) }},
		{"variables", 200, 5,
			func(got *Result) bool { return len(got.Unsaved.Resources) == 5 },
			func(got *Result) bool { return len(got.Steps) == 0 },
			func(got *Result) int { return len(got.Env.Dropped) }},
		{"resources", 5, 300,
			func(*Result) bool { return true },
			func(got *Result) bool { return len(got.Steps) == 0 && len(got.Env.Dropped) == 0 },
			func(got *Result) int { return len(got.Unsaved.Resources) }},
	} {
		r := &Result{Steps: full(steps).Steps, Env: &Env{}, Unsaved: &Unsaved{Count: tt.unsaved}}
		for i := range tt.dropped {
			r.Env.Dropped = append(r.Env.Dropped, fmt.Sprintf("TF_VAR_the_variable_number_%d", i))
		}
		for i := range tt.unsaved {
			r.Unsaved.Resources = append(r.Unsaved.Resources, UnsavedResource{Address: fmt.Sprint("a.b", i), Action: "create"})
		}
		got := decode(t, Encode(r))
		if some := tt.some(got); !tt.whole(got) || !tt.gone(got) || some == 0 || some == max(steps, tt.dropped, tt.unsaved) {
			t.Errorf("%s: %d steps, %d variables, %d resources are left", tt.name, len(got.Steps), len(got.Env.Dropped), len(got.Unsaved.Resources))
		}
	}
}

// It stops as soon as it fits: a document of the limit is whole, one byte more
// costs the changes and nothing else.
func TestEncodeStops(t *testing.T) {
	r := full(3)
	r.Image.Ref += strings.Repeat("x", MaxSize-len(Encode(r)))
	if doc := Encode(r); len(doc) != MaxSize || decode(t, doc).Changes == nil {
		t.Errorf("%d bytes, changes %v, want all of %d", len(doc), decode(t, doc).Changes, MaxSize)
	}
	r.Image.Ref += "x"
	want := *r
	want.Version, want.Changes = Version, nil
	if diff := cmp.Diff(&want, decode(t, Encode(r))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Lists lose their second half, the tail its end, the steps their middle.
func TestEncodeKeeps(t *testing.T) {
	r := &Result{Error: &Error{Tail: "start " + strings.Repeat("x", 400)}}
	r.Image.Ref = strings.Repeat("i", 3700)
	got := decode(t, Encode(r))
	if !strings.HasPrefix(got.Error.Tail, "start ") || !strings.HasSuffix(got.Error.Tail, cutMark) {
		t.Errorf("tail %q", got.Error.Tail)
	}

	r = &Result{Plan: &Plan{}, Image: r.Image}
	for i := range 32 {
		r.Plan.Resources = append(r.Plan.Resources, Change{fmt.Sprint(i), "update"})
	}
	got = decode(t, Encode(r))
	if n := len(got.Plan.Resources); n == 0 || n == 32 || 32%n != 0 || got.Plan.Resources[n-1].Address != fmt.Sprint(n-1) {
		t.Errorf("plan resources %v", got.Plan.Resources)
	}

	r = &Result{Steps: full(60).Steps}
	got = decode(t, Encode(r))
	n := len(got.Steps)
	if gap := got.Steps[n/2+1].Exit - got.Steps[n/2-1].Exit; n < 30 || gap < 60-n || got.Steps[0].Exit != 0 || got.Steps[n-1].Exit != 59 {
		t.Errorf("steps %v", got.Steps)
	}

	r = &Result{Op: "plan", Env: &Env{Dropped: full(500).Env.Dropped}}
	got = decode(t, Encode(r))
	if len(got.Env.Dropped) != 250 || got.Op != "plan" {
		t.Errorf("%d names left, want 250", len(got.Env.Dropped))
	}
}

// The last of a list goes without anything behind it on the ladder, and a tail of which only the mark would be left goes
// as a whole.
func TestEncodeTakesNoMore(t *testing.T) {
	r := &Result{Error: &Error{Tail: "a tail", Resources: []ErrorResource{{"a.b", strings.Repeat("x", MaxSize)}}}}
	if got := decode(t, Encode(r)); got.Error.Tail != "a tail" || len(got.Error.Resources) != 0 {
		t.Errorf("got %+v", got.Error)
	}
	for _, size := range []int{1, tailBite, tailBite + len(cutMark) - 1, tailBite + len(cutMark)} {
		r := &Result{Error: &Error{Tail: strings.Repeat("x", size)}}
		if !cutTail(r) || r.Error.Tail != "" {
			t.Errorf("of a tail of %d bytes %q is left", size, r.Error.Tail)
		}
	}
}

// Texts that nothing on the ladder shortens lead to the minimal document, which
// still says everything that a decision hangs on.
func TestEncodeMinimal(t *testing.T) {
	r := full(3)
	r.Partial = true
	r.Unsaved = &Unsaved{Count: 3, Resources: make([]UnsavedResource, 3), Planned: "captf-planned"}
	r.Runtime.Command = []string{strings.Repeat("\"\u2028\x01ü", 5000)}
	got := decode(t, Encode(r))
	want := &Result{
		Version: 1, Op: "drift", Steps: []Step{}, Runtime: Runtime{Command: []string{}}, Partial: true,
		Error: &Error{Kind: KindStep, Reason: ReasonProvider, Step: "apply"}, State: r.State, Document: r.Document,
		Plan: new(*r.Plan), Drift: new(*r.Drift), Unsaved: &Unsaved{Count: 3, Resources: []UnsavedResource{}, Planned: "captf-planned"},
	}
	want.Plan.Resources, want.Plan.Truncated = nil, true
	want.Drift.Resources, want.Drift.Truncated = []Change{}, true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.ExitCode() != r.ExitCode() {
		t.Errorf("exit code %d, want %d", got.ExitCode(), r.ExitCode())
	}
}

func TestEncodeMax(t *testing.T) {
	r := full(1000)
	doc := EncodeMax(r, 1<<20)
	got, err := Decode(doc)
	if err != nil || len(got.Plan.Resources) != 1000 {
		t.Errorf("%d bytes, error %v", len(doc), err)
	}
	if doc := EncodeMax(r, 10_000); len(doc) > 10_000 || len(doc) < MaxSize {
		t.Errorf("%d bytes for a limit of 10000", len(doc))
	}
	if doc := EncodeMax(r, 0); !bytes.Equal(doc, Encode(r)) {
		t.Errorf("%d bytes for no limit", len(doc))
	}
}

func FuzzEncode(f *testing.F) {
	f.Add("tail", uint16(3), uint16(3), uint16(3), uint16(3), uint16(3), uint8(255), true, int64(1))
	f.Add(strings.Repeat("日本語\x1b[0m\xff\"\\\u2028", 40), uint16(0), uint16(20), uint16(90), uint16(5), uint16(1), uint8(127), false, int64(-1))
	f.Add(strings.Repeat("\x01", 600), uint16(1000), uint16(0), uint16(0), uint16(0), uint16(300), uint8(0), true, int64(1<<62))
	f.Add(strings.Repeat("\x01\"", 300), uint16(9), uint16(9), uint16(9), uint16(9), uint16(9), uint8(191), true, int64(-1<<62))
	f.Add(strings.Repeat("x", 5000), uint16(9), uint16(9), uint16(9), uint16(9), uint16(9), uint8(85), false, int64(0))
	f.Fuzz(func(t *testing.T, text string, steps, failed, planned, drifted, dropped uint16, parts uint8, partial bool, number int64) {
		r, before := random(text, steps, failed, planned, drifted, dropped, parts, number), random(text, steps, failed, planned, drifted, dropped, parts, number)
		r.Partial, before.Partial = partial, partial
		doc := Encode(r)
		got := decode(t, doc)
		if cut := doc[:int(uint64(number)%uint64(len(doc)))]; readsAsSuccess(cut) {
			t.Errorf("the first %d of %d bytes read as success: %s", len(cut), len(doc), cut)
		}
		if !reflect.DeepEqual(before, r) {
			t.Fatalf("the argument changed (-before +after)\n%s", cmp.Diff(before, r))
		}
		if got.Partial != partial || partial && got.Succeeded() {
			t.Errorf("partial %v reads as partial %v, success %v", partial, got.Partial, got.Succeeded())
		}
		if got.Succeeded() != r.Succeeded() {
			t.Errorf("success %v reads as %v", r.Succeeded(), got.Succeeded())
		}
		if got.Error != nil && got.Plan != nil && got.Drift != nil && len(text) == 0 {
			checkOrder(t, r, got)
		}
	})
}

// readsAsSuccess is what a reader makes of a document that may have been cut.
func readsAsSuccess(doc []byte) bool {
	r, err := Decode(doc)
	return err == nil && r.Succeeded()
}

// A document that was cut anywhere, by whoever carried it, is none.
func TestNoPartReadsAsSuccess(t *testing.T) {
	success := full(5)
	success.Error, success.State = nil, nil
	doc := Encode(success)
	if !readsAsSuccess(doc) {
		t.Fatalf("the whole document is no success: %s", doc)
	}
	for i := range doc {
		if readsAsSuccess(doc[:i]) {
			t.Errorf("the first %d of %d bytes read as success", i, len(doc))
		}
	}
}

// random builds a result in which each bit of parts switches one part on, and
// text is everywhere.
func random(text string, steps, failed, planned, drifted, dropped uint16, parts uint8, number int64) *Result {
	item := text[:min(len(text), 64)]
	n, has := int(number), func(bit int) bool { return parts&(1<<bit) != 0 }
	r := &Result{Op: text, Image: Image{Ref: text}, Runtime: Runtime{Command: []string{text}, Version: text}, Document: text}
	r.Steps = slices.Repeat([]Step{{Name: item, Exit: n, Seconds: Seconds(number), Signal: item, Attempts: n, MaxRSSKiB: number}}, int(steps%300))
	if has(0) {
		r.Error = &Error{Kind: Kind(text), Reason: Reason(text), Step: text, Tail: text}
		r.Error.Resources = slices.Repeat([]ErrorResource{{item, item}}, int(failed%300))
	}
	if has(1) {
		r.Changes = &Changes{n, n, n, n}
	}
	if has(2) {
		r.Plan = &Plan{Hash: text, Create: n, Update: n, Replace: n, Delete: n, OutputChanges: n, Import: n, Move: n, Forget: n}
		r.Plan.Resources = slices.Repeat([]Change{{item, item}}, int(planned%300))
	}
	if has(3) {
		r.Drift = &Drift{Detected: true, Create: n, Update: n, Replace: n, Delete: n}
		r.Drift.Resources = slices.Repeat([]Change{{item, item}}, int(drifted%300))
	}
	if has(4) {
		r.Lock = &Lock{WaitedSeconds: Seconds(number), ID: text, Who: text, Operation: text, Created: text, ForceUnlock: &ForceUnlock{text, Outcome(text)}}
	}
	if has(5) {
		r.State = &State{Saved: SavedNormally, Serial: new(uint64(number)), Lineage: text, Where: text}
	}
	if has(6) {
		r.State = &State{Saved: Saved(text)}
		r.Unsaved = &Unsaved{Count: n, Resources: slices.Repeat([]UnsavedResource{{item, item, item}}, int(failed%300))}
	}
	if has(7) {
		r.Env = &Env{Dropped: slices.Repeat([]string{item}, int(dropped%300))}
	}
	return r
}
