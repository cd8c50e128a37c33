package kubernetes

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
)

// noise does not compress.
func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// A value is never in memory a second time, compressed: four large states are received at a
// time, and the pod has a limit.
func TestPartsAreKeptOneByOne(t *testing.T) {
	const size = 4 << 20
	raw := noise(size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := encode(raw, func(int, []byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if want := size / partSize; v.parts < want {
		t.Errorf("%d parts, want at least %d", v.parts, want)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > size*3/2 {
		t.Errorf("%d bytes were allocated for a value of %d", got, size)
	}
}

// Parts are full but for the last one, and together they are the value, also where its
// compressed bytes end at the edge of a part.
func TestPackerCuts(t *testing.T) {
	for _, size := range []int{0, 1, partSize - 1, partSize, partSize + 1, 2 * partSize, 2*partSize + 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var got []byte
			p := packer{keep: func(number int, data []byte) error {
				if len(data) != partSize || number*partSize != len(got) {
					t.Errorf("part %d has %d bytes, behind %d", number, len(data), len(got))
				}
				got = append(got, data...)
				return nil
			}}
			raw := noise(size)
			if _, err := io.Copy(&p, bytes.NewReader(raw)); err != nil {
				t.Fatal(err)
			}
			if size > 0 && len(p.part) == 0 {
				t.Error("nothing is left for the Secret itself or the last part")
			}
			if !bytes.Equal(append(got, p.part...), raw) {
				t.Error("the parts are not what was written")
			}
		})
	}
}

func TestEncodePlaces(t *testing.T) {
	for name, tt := range map[string]struct {
		raw   []byte
		field string
		parts int
	}{
		"plain":      {noise(plainSize), plainField, 0},
		"compressed": {bytes.Repeat([]byte("a"), 4*partSize), packedField, 0},
		"parts":      {noise(2 * partSize), packedField, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var packed []byte
			v, err := encode(tt.raw, func(_ int, data []byte) error { packed = append(packed, data...); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := v.data[tt.field]; !ok || v.parts != tt.parts {
				t.Fatalf("%d parts and fields %v, want %d and %s", v.parts, v.data, tt.parts, tt.field)
			} else if tt.field == plainField {
				if !bytes.Equal(data, tt.raw) {
					t.Error("another value")
				}
				return
			} else {
				packed = append(packed, data...)
			}
			r, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, tt.raw) {
				t.Errorf("another value, or %v", err)
			}
		})
	}
}

func TestPartThatIsNotKept(t *testing.T) {
	full := errors.New("no room")
	_, err := encode(noise(3*partSize), func(number int, _ []byte) error {
		if number == 1 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
}
