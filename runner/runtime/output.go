package runtime

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/captf/captf-runner/runner/result"
)

const (
	// maxDiagnostics bounds how many error diagnostics of one step are kept. The first ones tell the cause.
	maxDiagnostics = 64
	// maxText bounds how much plain text of each end of a step's output is kept.
	maxText = 32 << 10
)

// Diagnostic is an error that a runtime reported.
type Diagnostic struct {
	Summary string
	Detail  string
	Address string // the resource, when it is about one
}

// Text is the diagnostic as a sentence or two.
func (d Diagnostic) Text() string {
	if d.Detail == "" {
		return d.Summary
	}
	return d.Summary + ": " + d.Detail
}

// Output is what a step said, as far as decisions need it.
type Output struct {
	// Version is the runtime's, empty when the step does not tell it.
	Version string
	Errors  []Diagnostic
	// Counts is the last change_summary of an apply or destroy, nil when the step did not get that far.
	Counts *Counts
	// Planned are the changes that the step announced, before the first of them.
	Planned []Change
	// Outputs are the root outputs that an apply reported.
	Outputs map[string]Value
	// Drifted are the addresses that a refresh found changed or gone, with the action that was missed: update or delete.
	Drifted map[string]string
	// Changes are the changes to resources that were started, in that order. A runtime saves its state
	// every 20 s and at its end: if it does not get there, none of them may be in a state.
	Changes []Started
	// Concluded says that the step told how it ended, after the last change to a resource. A runtime does so when it has
	// saved its state, or has said that it cannot. One that crashes, or is killed, does not, whatever its exit code is.
	Concluded bool
	// State is the state that the runtime printed because it could save it nowhere.
	State []byte

	text textBuffer
}

// TextOutput is the output of a command that printed just this.
func TextOutput(text string) *Output {
	o := &Output{}
	for line := range strings.Lines(text) {
		o.text.add([]byte(strings.TrimRight(line, "\r\n")))
	}
	return o
}

// Started is a change to a resource.
type Started struct {
	Address string
	Action  string // create, update, delete, …
	ID      string // of the real object, when it was reported
	Ended   bool   // it completed or failed
	Failed  bool
}

// Unanswered are the changes that were started, and whose provider did not say how they ended: those in flight, and
// those that failed without an error of their own, because the provider died.
func (o *Output) Unanswered() []Started {
	return slices.DeleteFunc(slices.Clone(o.Changes), func(c Started) bool {
		return c.Ended && !c.Failed || c.Failed && o.hasErrorOf(c.Address)
	})
}

func (o *Output) hasErrorOf(address string) bool {
	return slices.ContainsFunc(o.Errors, func(d Diagnostic) bool { return d.Address == address })
}

func (o *Output) event(e Event) {
	if isState(e.State) {
		o.State = e.State
	}
	switch e.Type {
	case versionLine:
		o.Version = cmp.Or(e.Tofu, e.Terraform)
	case diagnostic:
		o.diagnostic(e.Diagnostic)
	case changeSummary:
		if e.Changes != nil && e.Changes.Operation != "plan" {
			o.Counts, o.Concluded = e.Changes, true
		}
	case plannedChange:
		if e.Change != nil {
			o.Planned = append(o.Planned, *e.Change)
		}
	case resourceDrift:
		if e.Change != nil {
			if o.Drifted == nil {
				o.Drifted = map[string]string{}
			}
			o.Drifted[e.Change.Resource.Addr] = e.Change.Action
		}
	case "outputs":
		o.Outputs = e.Outputs
	}
	if e.ChangesResource() {
		o.apply(e)
	}
}

func (o *Output) apply(e Event) {
	o.Concluded = false
	address := e.Hook.Resource.Addr
	if e.Type == applyStart {
		o.Changes = append(o.Changes, Started{Address: address, Action: e.Hook.Action, ID: e.Hook.IDValue})
		return
	}
	// The newest of an address: a replaced resource is deleted and created.
	for i, c := range slices.Backward(o.Changes) {
		if c.Address == address && !c.Ended {
			o.Changes[i].Ended, o.Changes[i].Failed = true, e.Type == applyErrored
			if e.Hook.IDValue != "" {
				o.Changes[i].ID = e.Hook.IDValue
			}
			return
		}
	}
}

func (o *Output) diagnostic(d *tfjson.Diagnostic) {
	if d == nil || d.Severity != tfjson.DiagnosticSeverityError {
		return
	}
	o.Concluded = o.Concluded || !beforeEnd[d.Summary]
	if len(o.Errors) >= maxDiagnostics {
		return
	}
	o.Errors = append(o.Errors, Diagnostic{Summary: d.Summary, Detail: d.Detail, Address: d.Address})
}

// beforeEnd are the errors that a runtime reports without having saved its state: when it is told to stop and cannot save
// what it has so far, and when it is told so a second time.
var beforeEnd = map[string]bool{"Error saving current state": true, "operation canceled": true}

// Text is all that was printed and is no event, both ends of it when it is long.
func (o *Output) Text() string { return o.text.String() }

// Diagnostics are the errors in order: those that were reported as such, or else those that the plain text holds.
func (o *Output) Diagnostics() []Diagnostic {
	if len(o.Errors) > 0 {
		return o.Errors
	}
	return textDiagnostics(o.Text())
}

// Tail is what an operator needs to read: the diagnostics, the cause of a crash, or else the end of the plain text.
func (o *Output) Tail() string {
	errors := o.Diagnostics()
	if len(errors) == 0 {
		if cause := crashCause(o.Text()); cause != "" {
			return cause
		}
		return strings.TrimSpace(lastLines(o.Text(), 5))
	}
	parts := make([]string, len(errors))
	for i, d := range errors {
		parts[i] = d.Text()
	}
	return strings.Join(parts, "\n")
}

// everything is the text of the selected errors and all plain output, for looking for a known message.
func (o *Output) everything(selected func(Diagnostic) bool) string {
	var b strings.Builder
	for _, d := range o.Errors {
		if selected(d) {
			b.WriteString(d.Summary + "\n" + d.Detail + "\n")
		}
	}
	b.WriteString(o.Text())
	return b.String()
}

// textDiagnostics finds the "Error: summary", blank line, detail blocks of readable output. Terraform prints some
// errors without the label: those count when there is no other.
func textDiagnostics(text string) []Diagnostic {
	if found := startingWith(text, labelled); len(found) > 0 {
		return found
	}
	return startingWith(text, unlabelled)
}

var (
	labelled   = regexp.MustCompile(`^Error: (.*)`)
	unlabelled = regexp.MustCompile(`^((?:Error|Failed to) [a-z].*)`)
)

// startingWith cuts the text into diagnostics at the lines that start one.
func startingWith(text string, first *regexp.Regexp) []Diagnostic {
	var found []Diagnostic
	var current *Diagnostic
	goesOn := false // the line before was text that a terminal's width may have broken
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if m := first.FindStringSubmatch(line); m != nil && len(found) < maxDiagnostics {
			found = append(found, Diagnostic{Summary: m[1]})
			current, goesOn = &found[len(found)-1], true
			continue
		}
		if current != nil {
			current.add(line, goesOn)
		}
		goesOn = line != "" && !indented(line)
	}
	return found
}

// add adds a line of readable output. One that goes on from the line before is put behind it: the runtime wraps for the
// width of a terminal.
func (d *Diagnostic) add(line string, goesOn bool) {
	switch {
	case !goesOn || indented(line) || line == "":
		d.Detail = strings.TrimSpace(d.Detail + "\n" + line)
	case d.Detail == "":
		d.Summary += " " + line
	default:
		d.Detail += " " + line
	}
}

func indented(line string) bool { return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") }

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// textBuffer keeps both ends of a text: errors come last, but a crash's cause comes first.
type textBuffer struct {
	head, tail []byte
	cut        bool
}

func (b *textBuffer) add(line []byte) {
	if line = unframed(line); line == nil {
		return
	}
	if len(line) > maxText/4 {
		line = append(line[:maxText/4:maxText/4], result.LineCut...)
	}
	if len(b.head)+len(line) < maxText && !b.cut {
		b.head = append(append(b.head, line...), '\n')
		return
	}
	b.cut = true
	b.tail = append(append(b.tail, line...), '\n')
	if len(b.tail) > 2*maxText {
		_, whole, _ := bytes.Cut(b.tail[len(b.tail)-maxText:], []byte("\n")) // half a secret would not be known for one
		b.tail = append(b.tail[:0], whole...)
	}
}

// unframed is a line without the frame that a runtime draws around an error where it has no -no-color; nil is one that
// holds nothing else.
func unframed(line []byte) []byte {
	if inside, framed := bytes.CutPrefix(line, []byte("│")); framed {
		return bytes.TrimPrefix(inside, []byte(" "))
	}
	if bytes.Equal(line, []byte("╷")) || bytes.Equal(line, []byte("╵")) {
		return nil
	}
	return line
}

func (b *textBuffer) String() string {
	if !b.cut {
		return string(b.head)
	}
	return string(b.head) + "…\n" + string(b.tail)
}
