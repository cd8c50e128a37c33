package runtime

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/captf/captf-runner/runner/result"
)

// Event is one line of a runtime's -json output. terraform-json has no types for the lines of plan and
// apply; its diagnostic is used here.
type Event struct {
	Level      string             `json:"@level"`
	Message    string             `json:"@message"`
	Type       string             `json:"type"`
	Hook       *Hook              `json:"hook"`
	Change     *Change            `json:"change"`
	Changes    *Counts            `json:"changes"`
	Outputs    map[string]Value   `json:"outputs"`
	Diagnostic *tfjson.Diagnostic `json:"diagnostic"`
	State      json.RawMessage    `json:"state"` // of an emergency dump only; never printed
	Tofu       string             `json:"tofu"`  // the version, in the first line
	Terraform  string             `json:"terraform"`
}

// Hook is what an apply_*, refresh_* or provision_* line is about.
type Hook struct {
	Resource Resource `json:"resource"`
	Action   string   `json:"action"`
	Elapsed  float64  `json:"elapsed_seconds"`
	IDValue  string   `json:"id_value"`
}

// Change is what a planned_change or resource_drift line is about.
type Change struct {
	Resource Resource `json:"resource"`
	Action   string   `json:"action"`
}

// Resource names a resource instance.
type Resource struct {
	Addr string `json:"addr"`
}

// Counts is a change_summary line's summary.
type Counts struct {
	Add       int    `json:"add"`
	Change    int    `json:"change"`
	Remove    int    `json:"remove"`
	Import    int    `json:"import"`
	Operation string `json:"operation"` // plan, apply or destroy
}

// Value is one output of an outputs line. Value is empty when Sensitive.
type Value struct {
	Sensitive bool            `json:"sensitive"`
	Value     json.RawMessage `json:"value"`
}

// The types of lines that something is decided by.
const (
	applyStart       = "apply_start"
	applyComplete    = "apply_complete"
	applyErrored     = "apply_errored"
	changeSummary    = "change_summary"
	diagnostic       = "diagnostic"
	plannedChange    = "planned_change"
	resourceDrift    = "resource_drift"
	stateLockAcquire = "state_lock_acquire"
	versionLine      = "version"
)

// WaitsForLock tells whether the step says that it waits for the state's lock.
func (e Event) WaitsForLock() bool { return e.Type == stateLockAcquire }

// HoldsLock tells whether only a step that has the state's lock prints such a line.
func (e Event) HoldsLock() bool {
	switch e.Type {
	case "refresh_start", resourceDrift, plannedChange, applyStart:
		return true
	}
	return false
}

// BeforeLock tells the lines that a step may print before it has the lock and its state: they do not show that it has.
func (e Event) BeforeLock() bool {
	switch e.Type {
	case versionLine, stateLockAcquire, "log":
		return true
	}
	return e.Diagnostic != nil && e.Level == "warn"
}

// IsVersion tells a step's first line.
func (e Event) IsVersion() bool { return e.Type == versionLine }

// ChangesResource tells whether the line is about a change to a resource that began or ended. A data source is read in
// the same way, by a plan, too.
func (e Event) ChangesResource() bool {
	switch e.Type {
	case applyStart, applyComplete, applyErrored:
		return e.Hook != nil && e.Hook.Action != "read"
	}
	return false
}

// EndsPlan tells whether the step has announced all of its changes, and starts with them now. A saved plan has no
// such line.
func (e Event) EndsPlan() bool {
	return e.Type == changeSummary && e.Changes != nil && e.Changes.Operation == "plan"
}

// Starts tells a change that begins from one that ends.
func (e Event) Starts() bool { return e.Type == applyStart }

// parseEvent reads one line. Even a -json stream has lines that are no JSON (warnings about the CLI
// configuration, a crash, output of a wrapper): those are not ok, and text.
func parseEvent(line []byte) (e Event, ok bool) {
	if start, cut := bytes.CutSuffix(line, []byte(result.LineCut)); cut && bytes.HasPrefix(start, []byte(`{"@level":`)) {
		return startOfEvent(start), true
	}
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &e) != nil {
		return Event{}, false
	}
	return e, e.Message != "" || e.Type != "" || e.Diagnostic != nil
}

// startOfEvent makes an event of the start of one that was too long to be kept whole: its level and its message, which
// come first. The rest of it would be no text for a person.
func startOfEvent(start []byte) Event {
	fields, tokens := map[string]string{}, json.NewDecoder(bytes.NewReader(start))
	_, _ = tokens.Token() // the brace
	for {
		key, errKey := tokens.Token()
		value, errValue := tokens.Token()
		name, isName := key.(string)
		text, isText := value.(string)
		if errKey != nil || errValue != nil || !isName || !isText {
			break
		}
		fields[name] = text
	}
	e := Event{Level: fields["@level"], Message: cmp.Or(fields["@message"], "an event") + result.LineCut}
	switch {
	case strings.HasPrefix(e.Message, "Outputs: "):
		e.Type = "outputs"
	case e.Level == "error":
		e.Type = diagnostic
		e.Diagnostic = &tfjson.Diagnostic{Severity: tfjson.DiagnosticSeverityError, Summary: strings.TrimPrefix(e.Message, "Error: ")}
	}
	return e
}

// quiet are the lines that would only make a log longer: the readable text has their sum in another line.
var quiet = map[string]bool{
	versionLine: true, "outputs": true, "refresh_complete": true, "apply_progress": true,
	"provision_complete": true, "ephemeral_action_complete": true,
}

// Text turns the line back into readable text, empty for what a log does without.
func (e Event) Text() string {
	switch {
	case quiet[e.Type]:
		return ""
	case e.Diagnostic != nil:
		return diagnosticText(e.Diagnostic)
	default:
		return e.Message
	}
}

func diagnosticText(d *tfjson.Diagnostic) string {
	var b strings.Builder
	label := "Error"
	if d.Severity == tfjson.DiagnosticSeverityWarning {
		label = "Warning"
	}
	fmt.Fprintf(&b, "%s: %s", label, d.Summary)
	if d.Range != nil {
		fmt.Fprintf(&b, "\n  on %s line %d", d.Range.Filename, d.Range.Start.Line)
		if d.Address != "" {
			fmt.Fprintf(&b, ", with %s", d.Address)
		}
	} else if d.Address != "" {
		fmt.Fprintf(&b, "\n  with %s", d.Address)
	}
	if d.Detail != "" {
		b.WriteString("\n\n" + d.Detail)
	}
	return b.String()
}
