package result

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func openTest(t *testing.T, path string) *File {
	t.Helper()
	w, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func write(t *testing.T, w *File, r *Result, partial bool) {
	t.Helper()
	if err := w.Write(r, partial); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result")
	w := openTest(t, path)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o644 || info.Size() != 0 {
		t.Fatalf("after Open: %v, %v, want an empty file with mode 0644", info, err)
	}

	long, small := full(5), &Result{Op: "apply", Partial: true}
	write(t, w, long, true)
	if got := decode(t, read(t, path)); !got.Partial || got.Op != "drift" {
		t.Errorf("partial document: %+v", got)
	}
	write(t, w, full(2), true)
	if got := decode(t, read(t, path)); len(got.Steps) != 2 {
		t.Errorf("the second partial document did not replace the first: %+v", got)
	}
	write(t, w, small, false)
	if got := read(t, path); !bytes.Equal(got, Encode(&Result{Op: "apply"})) {
		t.Errorf("final document: %q", got)
	}
	if !small.Partial || long.Partial {
		t.Error("Write changed its argument")
	}
	write(t, w, long, true) // from a goroutine that was late
	if got := decode(t, read(t, path)); got.Partial {
		t.Errorf("a partial document replaced the final one")
	}
}

// https://github.com/mattrobinsonsre/terrapod/issues/430
func TestOpenEmptiesAnOldResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result")
	if err := os.WriteFile(path, Encode(&Result{Op: "plan"}), 0o600); err != nil {
		t.Fatal(err)
	}
	openTest(t, path)
	if _, err := Decode(read(t, path)); !errors.Is(err, ErrEmpty) {
		t.Errorf("a runner killed before its first write leaves %v, want %v", err, ErrEmpty)
	}
}

// killed ends the run where the file would be truncated.
type killed struct{ target }

func (killed) Truncate(int64) error { return syscall.EINTR }

func TestKillBetweenWriteAndTruncate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result")
	w := openTest(t, path)
	write(t, w, full(5), true)
	w.f = killed{w.f}
	for _, op := range []string{"apply", "a"} {
		if err := w.Write(&Result{Op: op}, false); !errors.Is(err, syscall.EINTR) {
			t.Fatalf("got %v", err)
		}
		if got := decode(t, read(t, path)); got.Op != op || got.Partial {
			t.Errorf("got %+v", got)
		}
	}
}

// counted counts what reaches the file.
type counted struct {
	target
	writes int
}

func (c *counted) WriteAt(b []byte, off int64) (int, error) {
	c.writes++
	return c.target.WriteAt(b, off)
}

func TestOneWritePerDocument(t *testing.T) {
	w := openTest(t, filepath.Join(t.TempDir(), "result"))
	c := &counted{target: w.f}
	w.f = c
	write(t, w, full(5), true)
	write(t, w, full(1), false)
	if c.writes != 2 {
		t.Errorf("%d writes for two documents", c.writes)
	}
}

func TestPipeGetsTheFinalDocumentOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	if !errors.Is(err, syscall.ENXIO) {
		t.Fatalf("without a reader: %v, want %v", err, syscall.ENXIO)
	}

	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	w := openTest(t, path)
	write(t, w, full(5), true)
	write(t, w, &Result{Op: "apply"}, false)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(reader)
	if want := string(Encode(&Result{Op: "apply"})) + "\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// A shell may have sent standard output to a file that holds the log already.
func TestStdoutIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	stdout := os.Stdout
	os.Stdout = log
	defer func() { os.Stdout = stdout }()

	w := openTest(t, "/dev/stdout")
	if _, err := log.WriteString("a line of log\n"); err != nil {
		t.Fatal(err)
	}
	write(t, w, &Result{Op: "apply"}, true)
	write(t, w, &Result{Op: "apply"}, false)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString("the end\n"); err != nil {
		t.Fatalf("Close closed standard output: %v", err)
	}
	want := "a line of log\n" + string(Encode(&Result{Op: "apply"})) + "\nthe end\n"
	if got := string(read(t, path)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a reader finds at the path in the end is the final document, or the run knows that it is lost.
func TestFileThatIsReplaced(t *testing.T) {
	for name, row := range map[string]struct {
		put  func(path string) error
		lost error
	}{
		"removed":        {func(string) error { return nil }, nil},
		"another file":   {func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("x"), 9999), 0o600) }, nil},
		"a folder":       {func(path string) error { return os.Mkdir(path, 0o700) }, syscall.EISDIR},
		"a pipe":         {func(path string) error { return syscall.Mkfifo(path, 0o600) }, syscall.ENXIO},
		"a link nowhere": {func(path string) error { return os.Symlink("/nowhere/file", path) }, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "result")
			w := openTest(t, path)
			write(t, w, full(5), true)
			if err := errors.Join(os.Remove(path), row.put(path)); err != nil {
				t.Fatal(err)
			}
			write(t, w, full(1), true)
			if err := w.Write(&Result{Op: "apply"}, false); !errors.Is(err, row.lost) {
				t.Fatalf("got %v, want %v", err, row.lost)
			}
			if row.lost == nil && !bytes.Equal(read(t, path), Encode(&Result{Op: "apply"})) {
				t.Errorf("final document: %q", read(t, path))
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	running, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		"":                                   os.ErrNotExist,
		dir:                                  syscall.EISDIR,
		filepath.Join(dir, "absent", "file"): os.ErrNotExist,
		running:                              syscall.ETXTBSY,
	} {
		_, err := Open(path)
		if !errors.Is(err, want) {
			t.Errorf("Open(%q): %v, want %v", path, err, want)
			continue
		}
		if !strings.Contains(err.Error(), "result file "+path) {
			t.Errorf("Open(%q): %v does not name the path", path, err)
		}
	}
}

// A result that could not be written is an error, of a stream too.
func TestWriteToAFullDevice(t *testing.T) {
	w := openTest(t, "/dev/full")
	if !w.Stream() {
		t.Error("it is no stream")
	}
	if err := w.Write(full(1), true); err != nil {
		t.Errorf("a partial document, which no stream gets: %v", err)
	}
	if err := w.Write(full(1), false); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "result file /dev/full") {
		t.Errorf("got %v, want ENOSPC with the path", err)
	}
}

// Whoever writes last, the final document stays and is whole.
func TestFileConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result")
	w := openTest(t, path)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				if err := w.Write(full(n), i != 0 || n < 10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := decode(t, read(t, path)); got.Partial {
		t.Error("the document is partial")
	}
}

// TestContinueKeeps has a runner killed between its first look at an earlier result and its own first write: what the
// earlier one told is not lost.
func TestContinueKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result")
	if err := os.WriteFile(path, Encode(full(5)), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Continue(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got := read(t, path); !bytes.Equal(got, Encode(full(5))) {
		t.Errorf("after Continue: %q", got)
	}
	write(t, w, &Result{Op: "apply"}, true)
	if got := decode(t, read(t, path)); got.Op != "apply" || !got.Partial {
		t.Errorf("after the first write: %+v", got)
	}
}
