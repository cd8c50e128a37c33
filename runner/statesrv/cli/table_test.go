package cli

import (
	"bytes"
	"testing"
)

// What clients sent must not reach the terminal's own language.
func TestTablesAreSafeForATerminal(t *testing.T) {
	var out bytes.Buffer
	a := &App{Out: &out}
	a.table([]string{"NAME", "WHO"}, [][]string{{"s", "\x1b[31mevil\x07\r\n\u202e é"}, {"t", ""}})
	want := "NAME  WHO\ns     ?[31mevil?  ? é\nt     -\n"
	if out.String() != want {
		t.Errorf("table is %q, want %q", out.String(), want)
	}
}
