package outlet_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/outlet"
)

const forever = time.Hour

// limit bounds waits for what has to happen at once.
const limit = time.Minute

// pipe is a real one, with the 64 KiB that a kernel keeps.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func soon(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s blocks", what)
	}
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "line %06d\n", i)
	}
	return b.String()
}

// Whatever a reader does, it gets every line in order when it takes something now and then.
func TestSlowReaderGetsAll(t *testing.T) {
	r, w := pipe(t)
	o := outlet.New(w, outlet.Patience{Running: forever, Stopped: forever}, nil)
	const lines = 300_000 // over 3 MB: more than pipe and memory hold
	go func() {
		for i := range lines {
			_, _ = o.Write([]byte(numbered(i, i+1)))
		}
		o.Close()
		w.Close()
	}()
	var got bytes.Buffer
	soon(t, "reading", func() { _, _ = io.Copy(&got, oddReader{r}) })
	if got.String() != numbered(0, lines) {
		t.Errorf("%d bytes, want %d in order", got.Len(), len(numbered(0, lines)))
	}
}

// oddReader takes odd pieces.
type oddReader struct{ r io.Reader }

func (o oddReader) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 7001)]) }

// Nobody reads: what fits is kept, the rest is dropped, and is told when somebody reads at last.
func TestStuckReaderHoldsNobodyUp(t *testing.T) {
	r, w := pipe(t)
	o := outlet.New(w, outlet.Patience{Running: 50 * time.Millisecond, Stopped: forever}, nil)
	const lines = 200_000 // 2.4 MB
	soon(t, "Write", func() {
		for i := range lines {
			if _, err := o.Write([]byte(numbered(i, i+1))); err != nil {
				t.Errorf("line %d: %v", i, err)
			}
		}
	})
	var got []string
	in := bufio.NewScanner(r)
	for in.Scan() {
		if got = append(got, in.Text()); strings.Contains(in.Text(), "missing") {
			break
		}
	}
	kept := len(got) - 1
	want := fmt.Sprintf("[%d lines are missing here: nobody read them in time]", lines-kept)
	if kept < 80_000 || got[kept] != want {
		t.Errorf("%d lines were kept, then %q; want a megabyte of them, then %q", kept, got[kept], want)
	}
	if got[0] != "line 000000" || got[kept-1] != fmt.Sprintf("line %06d", kept-1) {
		t.Errorf("kept %q to %q", got[0], got[kept-1])
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	soon(t, "Close", o.Close)
}

// After a stop nobody waits for a reader that is stuck, whatever was waiting at that time.
func TestStopEndsWaiting(t *testing.T) {
	for _, waiting := range []string{"Write", "Close"} {
		t.Run(waiting, func(t *testing.T) {
			_, w := pipe(t)
			stopped := make(chan struct{})
			o := outlet.New(w, outlet.Patience{Running: forever, Stopped: 10 * time.Millisecond}, stopped)
			_, _ = o.Write(make([]byte, 2<<20))
			time.AfterFunc(50*time.Millisecond, func() { close(stopped) })
			soon(t, waiting, func() {
				if waiting == "Write" {
					_, _ = o.Write([]byte("more\n"))
				}
				o.Close()
			})
		})
	}
}

// A person may read page by page: the end waits.
func TestCloseWaits(t *testing.T) {
	r, w := pipe(t)
	o := outlet.New(w, outlet.Patience{Running: time.Millisecond, Stopped: time.Millisecond}, nil)
	text := numbered(0, 20_000)
	_, _ = o.Write([]byte(text))
	closed := make(chan struct{})
	go func() { o.Close(); close(closed) }()
	select {
	case <-closed:
		t.Fatal("closed with most of it unread")
	case <-time.After(100 * time.Millisecond):
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
		t.Errorf("read: %v", err)
	}
	soon(t, "Close", func() { <-closed })
}

// A reader that has gone is told of, and holds nobody up.
func TestReaderGone(t *testing.T) {
	r, w := pipe(t)
	r.Close()
	o := outlet.New(w, outlet.Patience{Running: forever, Stopped: forever}, nil)
	soon(t, "Write", func() {
		for {
			if _, err := o.Write(make([]byte, 64<<10)); err != nil {
				if !errors.Is(err, syscall.EPIPE) {
					t.Errorf("%v, want a broken pipe", err)
				}
				break
			}
		}
		o.Close()
	})
}
