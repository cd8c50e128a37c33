package result

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeRefuses(t *testing.T) {
	tests := map[string]struct {
		doc  string
		want error
	}{
		"nothing":        {"", ErrEmpty},
		"white space":    {" \n\t ", ErrEmpty},
		"text":           {"OOMKilled", ErrMalformed},
		"cut":            {`{"version":1,"op":"apply","error":nu`, ErrMalformed},
		"list":           {`[]`, ErrMalformed},
		"two documents":  {`{"version":1,"error":null}{"version":1,"error":null}`, ErrMalformed},
		"no error key":   {`{"version":1,"op":"apply"}`, ErrMalformed},
		"wrong type":     {`{"version":1,"op":7,"error":null}`, ErrMalformed},
		"version text":   {`{"version":"1","error":null}`, ErrMalformed},
		"negative":       {`{"version":1,"error":null,"state":{"saved":"saved","serial":-1}}`, ErrMalformed},
		"seconds a text": {`{"version":1,"error":null,"lock":{"waitedSeconds":"3s"}}`, ErrMalformed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Decode([]byte(tt.doc))
			if !errors.Is(err, tt.want) || r != nil {
				t.Errorf("got %v, %v, want %v", r, err, tt.want)
			}
		})
	}
}

func TestDecodeVersions(t *testing.T) {
	for doc, want := range map[string]int{
		`{"op":"apply","error":null}`: 0,
		`null`:                        0,
		`{"version":2,"op":["another","type"],"error":{}}`: 2,
	} {
		_, err := Decode([]byte(doc))
		var ve *VersionError
		if !errors.As(err, &ve) || ve.Version != want {
			t.Errorf("Decode(%s): %v, want version %d refused", doc, err, want)
		}
	}
}

// A document as a later writer of version 1 may write it.
func TestDecodeNewerWriter(t *testing.T) {
	got, err := Decode([]byte(`{"version":1,"op":"import","image":{"ref":"i","layers":3},"cost":{"usd":1},
		"steps":[{"name":"init","exit":0,"seconds":0.25,"cpu":1}],
		"error":{"kind":"quota","reason":"disk","step":"init","tail":"t","hint":"h"},"drift":null}   `))
	if err != nil {
		t.Fatal(err)
	}
	want := &Result{
		Version: 1, Op: "import", Image: Image{Ref: "i"},
		Steps: []Step{{Name: "init", Seconds: Seconds(250 * time.Millisecond)}},
		Error: &Error{Kind: "quota", Reason: "disk", Step: "init", Tail: "t"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The least that the first writer of version 1 could write.
func TestDecodeOlderWriter(t *testing.T) {
	got, err := Decode([]byte(`{"version":1,"op":"apply","error":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Succeeded() || got.Lock != nil || got.Env != nil {
		t.Errorf("got %+v", got)
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0:                          "0",
		1234567 * time.Microsecond: "1.235",
		2 * time.Minute:            "120",
		time.Nanosecond:            "0",
	} {
		got, err := Seconds(in).MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%v: got %s, %v, want %s", in, got, err, want)
		}
	}
	for in, want := range map[string]Seconds{
		"1.2345": Seconds(1235 * time.Millisecond), "3": Seconds(3 * time.Second), "-0.5": Seconds(-500 * time.Millisecond),
		"1e300": 1<<63 - 1, "-1e300": -1 << 63,
	} {
		var got Seconds
		if err := got.UnmarshalJSON([]byte(in)); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", in, time.Duration(got), err, time.Duration(want))
		}
	}
}
