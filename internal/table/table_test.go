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
