package e2e

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/captf/captf-runner/runner/result"
)

const emptyState = `{"version":4,"terraform_version":"1.5.7","serial":7,"lineage":"l","outputs":{},"resources":[]}`

func zipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// chunks writes the files of a backup; a nil one is left out.
func (f *fixture) chunks(t *testing.T, chunks ...[]byte) {
	t.Helper()
	dir := filepath.Join(f.config, "restore")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, chunk := range chunks {
		if chunk != nil {
			overwrite(t, filepath.Join(dir, strconv.Itoa(i)), string(chunk))
		}
	}
}

// A backup that is no state is found before anything runs: what is stored stays.
func TestBadRestore(t *testing.T) {
	state := zipped(t, []byte(emptyState))
	half := len(state) / 2
	// 65 MiB of zeros are 65 KiB.
	bomb := zipped(t, make([]byte, 65<<20))
	restore := func(name, chunks string, files [][]byte, says ...string) bad {
		b := badConfig(name, more("--restore-chunks", chunks), append(says, "restore", "backup")...)
		b.op = "restore"
		b.prepare = func(t *testing.T, f *fixture) { f.chunks(t, files...) }
		return b
	}
	usage := func(name, chunks string) bad {
		b := badUsage(name, more("--restore-chunks", chunks), "--restore-chunks "+chunks, "between 1 and 32")
		b.op = "restore"
		return b
	}
	noResources := restore("no resources", "1", [][]byte{state}, "without a managed resource", "the backup had 5")
	noResources.flags = more("--restore-chunks", "1", "--restore-resources", "5")
	testBad(t,
		usage("no chunk", "0"),
		usage("too many chunks", "33"),
		restore("no chunks there", "1", nil, "chunk 0 of 1", "no such file or directory"),
		restore("a gap", "3", [][]byte{state[:half], nil, state[half:]}, "chunk 1 of 3", "no such file or directory"),
		restore("last chunk missing", "2", [][]byte{state}, "chunk 1 of 2", "no such file or directory"),
		restore("half of the chunks", "1", [][]byte{state[:half], state[half:]}, "damaged", "unexpected EOF"),
		restore("damaged", "1", [][]byte{append(state[:len(state)-8:len(state)-8], make([]byte, 8)...)}, "damaged", "checksum"),
		restore("empty", "1", [][]byte{{}}, "no gzip"),
		restore("not gzip", "1", [][]byte{[]byte(emptyState)}, "no gzip"),
		restore("gzip bomb", "1", [][]byte{bomb}, "larger than 64 MiB"),
		restore("no JSON", "1", [][]byte{zipped(t, []byte("hunter2"))}, "no state"),
		restore("another document", "1", [][]byte{zipped(t, []byte(`{"version":3}`))}, "no state", "version 4"),
		restore("no lineage", "1", [][]byte{zipped(t, []byte(`{"version":4}`))}, "without a lineage", "restore another backup"),
		noResources,
		restore("an array", "1", [][]byte{zipped(t, []byte(`[]`))}, "no state"),
	)
}

// What follows the first gzip member is a chunk that a longer state left behind.
func TestRestoreFirstMemberOnly(t *testing.T) {
	f := newBadFixture(t)
	f.chunks(t, append(zipped(t, []byte(emptyState)), zipped(t, []byte("rest"))...))
	o := f.must(t, result.ExitDone, "restore", more("--restore-chunks", "1")(f)...)
	if got := o.steps(); got != "init state-push state-list" {
		t.Errorf("steps %q\n%s", got, o)
	}
}
