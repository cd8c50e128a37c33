package statesrv_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// Compare the two: a write over HTTP costs the fsyncs of its two records, and the
// rest should not show. Run with -benchtime=2000x -cpu=2 or the like.

const (
	benchClients = 32
	benchBytes   = 100 << 10
)

// BenchmarkWrite is a durable write of 100 KiB, by 32 clients on distinct states.
func BenchmarkWrite(b *testing.B) {
	store, err := dir.Open(b.Context(), b.TempDir(), dir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	server := httptest.NewServer(statesrv.NewHandler(statesrv.NewStates(store, statesrv.Rules{}), statesrv.HandlerOptions{}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}
	padding := `["` + strings.Repeat("x", benchBytes) + `"]`
	clients(b, func(state, n int) error {
		body := fmt.Sprintf(`{"version":4,"serial":%d,"lineage":"l","resources":%s}`, n, padding)
		resp, err := client.Post(fmt.Sprintf("%s/states/s%d", server.URL, state), "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
}

// BenchmarkFsyncs is what the disk needs for the two records of such a write.
func BenchmarkFsyncs(b *testing.B) {
	path := b.TempDir()
	body, head := make([]byte, benchBytes), make([]byte, 8<<10)
	clients(b, func(client, n int) error {
		state := filepath.Join(path, fmt.Sprint(client))
		if n == 0 {
			if err := os.MkdirAll(filepath.Join(state, "versions"), 0o700); err != nil {
				return err
			}
		}
		return errors.Join(
			replace(filepath.Join(state, "versions", fmt.Sprint(n)), body),
			replace(filepath.Join(state, "head"), head))
	})
}

func replace(name string, data []byte) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close(), os.Rename(name+".tmp", name)); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// clients calls do for each iteration, from many clients at once; n counts the
// calls of one client.
func clients(b *testing.B, do func(client, n int) error) {
	b.SetBytes(benchBytes)
	b.SetParallelism(benchClients / 2)
	var next atomic.Int64
	before := cpuTime(b)
	b.RunParallel(func(pb *testing.PB) {
		client := int(next.Add(1))
		for n := 0; pb.Next(); n++ {
			if err := do(client, n); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/1e3, "cpu-µs/op")
}

// cpuTime is the processor time of this process, its part of the kernel included:
// what is left to compare when others use the machine.
func cpuTime(b *testing.B) int64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return use.Utime.Nano() + use.Stime.Nano()
}
