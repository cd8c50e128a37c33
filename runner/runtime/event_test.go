package runtime

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/result"
)

func TestOutput(t *testing.T) {
	lines := []string{
		`{"@level":"info","@message":"OpenTofu 1.12.6","type":"version","tofu":"1.12.6"}`,
		`{"@level":"info","@message":"a: Plan to create","change":{"resource":{"addr":"a"},"action":"create"},"type":"planned_change"}`,
		`{"@level":"info","@message":"Plan: 3 to add","changes":{"add":3,"operation":"plan"},"type":"change_summary"}`,
		`{"@level":"info","@message":"a: Creating...","hook":{"resource":{"addr":"a"},"action":"create"},"type":"apply_start"}`,
		`{"@level":"info","@message":"b: Creating...","hook":{"resource":{"addr":"b"},"action":"create"},"type":"apply_start"}`,
		`{"@level":"info","@message":"c: Creating...","hook":{"resource":{"addr":"c"},"action":"create"},"type":"apply_start"}`,
		`{"@level":"info","@message":"a: Creation complete","hook":{"resource":{"addr":"a"},"id_value":"i-1"},"type":"apply_complete"}`,
		`{"@level":"info","@message":"c: Creation errored","hook":{"resource":{"addr":"c"}},"type":"apply_errored"}`,
		`{"@level":"error","@message":"Error: no","diagnostic":{"severity":"error","summary":"no","detail":"capacity","address":"c"},"type":"diagnostic"}`,
		`{"@level":"warn","@message":"Warning: old","diagnostic":{"severity":"warning","summary":"old","detail":""},"type":"diagnostic"}`,
		"\x1b[33mnot json\x1b[0m",
		`{"not": "ours"}`,
		`{"@level":"info","@message":"Outputs: 1","outputs":{"x":{"sensitive":false,"value":"2"}},"type":"outputs"}`,
		`{"@level":"info","@message":"Apply complete!","changes":{"add":1,"change":0,"remove":0,"operation":"apply"},"type":"change_summary"}`,
	}
	r := reader{sink: Discard, output: &Output{}}
	for _, line := range lines {
		r.line([]byte(line))
	}
	out := r.output
	want := []Started{
		{Address: "a", Action: "create", ID: "i-1", Ended: true},
		{Address: "b", Action: "create"},
		{Address: "c", Action: "create", Ended: true, Failed: true},
	}
	if diff := cmp.Diff(want, out.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:2], out.Unanswered()); diff != "" {
		t.Errorf("in flight (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Diagnostic{{Summary: "no", Detail: "capacity", Address: "c"}}, out.Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Counts{Add: 1, Operation: "apply"}, out.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(out.Planned) != 1 || string(out.Outputs["x"].Value) != `"2"` {
		t.Errorf("planned %v, outputs %v", out.Planned, out.Outputs)
	}
	if diff := cmp.Diff("not json\n{\"not\": \"ours\"}\n", out.Text()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("no: capacity", out.Tail()); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
}

// What is left of an event that was too long is read as far as a person needs it, and its JSON is never text.
func TestStartOfEvent(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for name, row := range map[string]struct{ line, text, tail string }{
		"outputs":         {`{"@level":"info","@message":"Outputs: 2","@module":"tofu.ui","outputs":{"a":{"value":"` + long, "", ""},
		"an error":        {`{"@level":"error","@message":"Error: no room","diagnostic":{"severity":"error","detail":"` + long, "Error: no room", "no room"},
		"a warning":       {`{"@level":"warn","@message":"Warning: old","diagnostic":{"severity":"warning","detail":"` + long, "Warning: old", ""},
		"a long message":  {`{"@level":"info","@message":"` + long, "an event", ""},
		"not of the kind": {`{"mine": "` + long, `{"mine": "` + long[:maxLine-10], `{"mine": "` + long[:maxText/4-10]},
	} {
		t.Run(name, func(t *testing.T) {
			var shown []string
			r := reader{sink: collect{&shown}, output: &Output{}}
			lines := newLines(r.line)
			_, _ = lines.Write([]byte(row.line + "\n"))
			want := []string{row.text + result.LineCut}
			if row.text == "" {
				want = []string{""}
			}
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("shown (-want +got):\n%.400s", diff)
			}
			if row.tail != "" {
				row.tail += result.LineCut
			}
			if got := r.output.Tail(); got != row.tail {
				t.Errorf("tail %.200q, want %.200q", got, row.tail)
			}
		})
	}
}

// collect is a Sink that keeps what a log would show.
type collect struct{ shown *[]string }

func (c collect) Event(e Event, _ *Output) { *c.shown = append(*c.shown, e.Text()) }
func (c collect) Text(line string)         { *c.shown = append(*c.shown, line) }

func TestTailOfReadableOutput(t *testing.T) {
	out := TextOutput("Initializing the backend...\n\nError: Invalid backend\n\nThe argument \"adress\"\nis not expected.\n\nError: And another\n")
	want := "Invalid backend: The argument \"adress\" is not expected.\nAnd another"
	if diff := cmp.Diff(want, out.Tail()); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
	if got := TextOutput("one\ntwo\n").Tail(); got != "one\ntwo" {
		t.Errorf("tail of text without errors = %q", got)
	}
}

func TestTextKeepsBothEnds(t *testing.T) {
	var long strings.Builder
	long.WriteString("first\n")
	for range 200_000 {
		long.WriteString("0123456789\n")
	}
	long.WriteString("last\n")
	text := TextOutput(long.String()).Text()
	if !strings.HasPrefix(text, "first\n") || !strings.HasSuffix(text, "last\n") {
		t.Errorf("an end is missing: %.20q … %q", text, text[len(text)-20:])
	}
	if len(text) > 4*maxText {
		t.Errorf("%d bytes are kept", len(text))
	}
}

func TestDiagnosticText(t *testing.T) {
	e, ok := parseEvent([]byte(`{"@level":"error","@message":"Error: bad","type":"diagnostic","diagnostic":{"severity":"error","summary":"bad","detail":"because\nof this","address":"a.b","range":{"filename":"main.tf","start":{"line":9,"column":1,"byte":1},"end":{"line":9,"column":2,"byte":2}}}}`))
	want := "Error: bad\n  on main.tf line 9, with a.b\n\nbecause\nof this"
	if diff := cmp.Diff(want, e.Text()); !ok || diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// A line is kept whole at both ends of a long text, or marked as cut: of half a secret nobody would know that it is one.
func TestLongTextKeepsWholeLines(t *testing.T) {
	var b textBuffer
	line := strings.Repeat("x", 99) + "$"
	for range 3000 {
		b.add([]byte(line))
	}
	b.add([]byte(strings.Repeat("y", maxText)))
	for kept := range strings.Lines(b.String()) {
		if kept = strings.TrimSuffix(kept, "\n"); kept != line && kept != "…" && !strings.HasSuffix(kept, "y"+result.LineCut) {
			t.Errorf("a line of %d bytes is kept as %q", len(line), kept)
		}
	}
}
