package runtime

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/result"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine+5000)
	tests := []struct {
		name   string
		writes []string
		want   []string
	}{
		{"whole lines", []string{"a\nb\n"}, []string{"a", "b"}},
		{"split anywhere", []string{"a", "b\nc", "", "d\r\n"}, []string{"ab", "cd"}},
		{"empty lines stay", []string{"a\n\nb\n"}, []string{"a", "", "b"}},
		{"no line end at the end", []string{"a\nb"}, []string{"a", "b"}},
		{"longer than 64 KiB", []string{long[:100<<10] + "\nnext\n"}, []string{long[:100<<10], "next"}},
		{"longer than is kept", []string{long[:10], long[10:] + "\nnext\n"}, []string{long[:maxLine] + result.LineCut, "next"}},
		{"kept whole", []string{`{"@message":"Outputs: 1",` + long + "\n"}, []string{`{"@message":"Outputs: 1",` + long}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			l := newLines(func(line []byte) { got = append(got, string(line)) }, outputsMessage)
			for _, w := range tt.writes {
				if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("Write = %d, %v; want %d", n, err, len(w))
				}
			}
			l.Flush()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%.300s", diff)
			}
		})
	}
}
