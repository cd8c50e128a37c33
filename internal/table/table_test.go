package table

import (
	"strings"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	var out strings.Builder
	err := Write(&out, []string{"NAME", "SERIAL"}, [][]string{{"a", ""}, {"long\x1b[31m\u202ename", "7"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "NAME            SERIAL\na               -\nlong?[31m?name  7\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestPrintable(t *testing.T) {
	if got, want := Printable("User\n\u202ebob\tmay\x00"), "User ?bob may?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriteWithoutHeading(t *testing.T) {
	var out strings.Builder
	if err := Write(&out, nil, [][]string{{"serial", "7"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "serial  7\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStamp(t *testing.T) {
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.FixedZone("", 3600))
	if got, want := Stamp(at), "2026-11-30 09:00:00Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Stamp(time.Time{}); got != "" {
		t.Errorf("the zero time is %q, want nothing", got)
	}
}

func TestFold(t *testing.T) {
	var out strings.Builder
	rows := [][]string{{"a", "first"}, {"long", "-"}}
	if err := fold(&out, []string{"NAME", "WHY"}, rows); err != nil {
		t.Fatal(err)
	}
	if want := "NAME  a\nWHY   first\n\nNAME  long\nWHY   -\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if got := total(append(rows, []string{"NAME", "WHY"})); got != len("long")+2+len("first") {
		t.Errorf("the table is %d wide", got)
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		indent, width int
		want          string
	}{
		{3, 0, "one two three four five six"},
		{3, 22, "one two three four five six"}, // hardly fits
		{3, 23, "one two three four\n   five six"},
		{3, 30, "one two three four five six"},
	} {
		if got := Wrap("one two three four five six", test.indent, test.width); got != test.want {
			t.Errorf("indent %d, width %d: got %q, want %q", test.indent, test.width, got, test.want)
		}
	}
}
