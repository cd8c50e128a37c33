package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// textSink is a Sink that keeps what would be printed.
type textSink struct{ lines []string }

func (s *textSink) Event(e Event, _ *Output) { s.lines = append(s.lines, e.Text()) }
func (s *textSink) Text(line string)         { s.lines = append(s.lines, line) }

func TestDumpedState(t *testing.T) {
	big := strings.Repeat("s3cr3t", 2<<20/6)
	state := fmt.Sprintf(`{"version":4,"terraform_version":"1.12.6","serial":7,"lineage":"l","outputs":{"x":{"value":%q}},"resources":[]}`, big)
	raw := "{\n  \"version\": 4,\n  \"serial\": 7,\n  \"lineage\": \"l\",\n  \"outputs\": {\n    \"x\": {\"value\": \"s3cr3t\"}\n  }\n}\n"
	tests := []struct {
		name   string
		output string
		saved  bool
		shown  string // among the printed lines
	}{
		{"json line longer than any other may be", `{"@level":"info","@message":"Emergency state dump","@module":"tofu.ui","@timestamp":"2026-11-30T01:53:33.894008Z","state":` + state + `,"type":"log"}` + "\n", true, "Emergency state dump"},
		{"raw", "before\n" + raw + "after\n", true, "after"},
		{"raw, last line without an end", strings.TrimSuffix(raw, "\n"), true, ""},
		{"encrypted", "{\n  \"serial\": 1,\n  \"lineage\": \"l\",\n  \"encrypted_data\": \"s3cr3t\",\n  \"encryption_version\": \"v0\"\n}\n", true, ""},
		{"half a state", raw[:len(raw)-10], false, "(part of a state, not shown)"},
		{"another document", "{\n  \"a\": 1\n}\n", false, `  "a": 1`},
		{"a brace and nothing else", "{\n", false, "{"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sink := &textSink{}
			r := &reader{sink: sink, output: &Output{}}
			s := r.stream()
			for chunk := range slices.Chunk([]byte(tt.output), 1021) { // writes end anywhere
				_, _ = s.lines.Write(chunk)
			}
			s.flush()
			if got := r.output.State != nil; got != tt.saved {
				t.Errorf("state caught: %v, want %v", got, tt.saved)
			}
			printed := strings.Join(sink.lines, "\n") + r.output.Text()
			if strings.Contains(printed, "s3cr3t") {
				t.Error("the state is printed")
			}
			if !strings.Contains(printed, tt.shown) {
				t.Errorf("printed %.200q, want %q in it", printed, tt.shown)
			}
		})
	}
}
