package statesrv

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The JSON of a head is what it is without a series' own encoding, and comes back.
func TestSeries(t *testing.T) {

	var none, read series[Event]
	two := none
	for i, note := range []string{"one <&>", "two"} {
		var err error
		if two, err = two.with(Event{ID: note, Version: i}); err != nil {
			t.Fatal(err)
		}
	}
	want := []Event{{ID: "one <&>"}, {ID: "two", Version: 1}}
	text, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // encoded, and then read and encoded
		got, err := two.appendTo(nil)
		if err != nil || string(got) != string(text) {
			t.Errorf("array is %s, %v, want %s", got, err, text)
		}
		if err := json.Unmarshal(got, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, slices.Collect(read.values())); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
		two = read
	}
	if first := slices.Collect(two.backward()); first[0].ID != "two" || len(first) != 2 {
		t.Errorf("backward it is %+v", first)
	}
	if got, err := none.appendTo(nil); string(got) != "[]" || err != nil {
		t.Errorf("an empty array is %s, %v", got, err)
	}
	if err := json.Unmarshal([]byte("null"), &read); err != nil || len(read) != 0 {
		t.Errorf("null is read as %d records, %v", len(read), err)
	}
}

// Two writers may go on from one series.
func TestSeriesIsShared(t *testing.T) {
	one, err := series[Event]{}.with(Event{ID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	one = slices.Grow(one, 1)
	a, _ := one.with(Event{ID: "a"})
	b, _ := one.with(Event{ID: "b"})
	if a[1].value.ID != "a" || b[1].value.ID != "b" || len(one) != 1 {
		t.Errorf("they have %s and %s", a[1].value.ID, b[1].value.ID)
	}
}
