package statesrv_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

const (
	benchClients = 32
	benchBytes   = 100 << 10
	benchRounds  = 10
)

// BenchmarkWrite compares durable writes of 100 KiB over HTTP, by 32 clients on
// distinct states, with what the disk alone needs for the two records of each: once
// as programs usually replace a file, by a new one and a rename, and once with the
// very system calls that the store makes; and with what the wire alone costs. They
// take turns, ten times in one run, so that each has its share of what else the
// machine does.
func BenchmarkWrite(b *testing.B) {
	kinds := []*writer{
		{name: "http", write: overHTTP(b, benchServer(b))},
		{name: "files", write: onDisk(b.TempDir(), replaceByRename, replaceByRename)},
		{name: "calls", write: onDisk(b.TempDir(), createNew, replaceByExchange)},
		{name: "wire", write: overHTTP(b, sink(b))},
	}
	for _, w := range kinds { // the directories are made before the time counts
		w.round(b, benchClients)
		w.time, w.cpu = 0, 0
	}
	b.ResetTimer()
	each := max(1, b.N/benchRounds)
	for range benchRounds {
		for _, w := range kinds {
			w.round(b, each)
		}
	}
	for _, w := range kinds {
		b.ReportMetric(float64(benchRounds*each)/w.time.Seconds(), w.name+"-writes/s")
		b.ReportMetric(float64(w.cpu.Microseconds())/float64(benchRounds*each), w.name+"-cpu-µs")
	}
	b.ReportMetric(kinds[1].time.Seconds()/kinds[0].time.Seconds(), "ratio-files")
	b.ReportMetric(kinds[2].time.Seconds()/kinds[0].time.Seconds(), "ratio-calls")
	b.ReportMetric(0, "ns/op")
}

// writer is one way to write; client counts from 0, and n counts its writes.
type writer struct {
	name  string
	write func(client, n int) error
	count [benchClients]int
	time  time.Duration
	cpu   time.Duration
}

// round writes n times, from all clients at once.
func (w *writer) round(b *testing.B, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	var group sync.WaitGroup
	start, cpu := time.Now(), cpuTime(b)
	for client := range benchClients {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := w.write(client, w.count[client]); err != nil {
					b.Error(err)
					return
				}
				w.count[client]++
			}
		})
	}
	group.Wait()
	w.time += time.Since(start)
	w.cpu += cpuTime(b) - cpu
}

// cpuTime is the processor time of this process, its part of the kernel's included.
func cpuTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// benchServer serves a directory and returns the URL.
func benchServer(b *testing.B) string {
	store, err := dir.Open(b.Context(), b.TempDir(), dir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(statesrv.NewHandler(statesrv.NewStates(store, statesrv.Rules{}), statesrv.HandlerOptions{}))
	b.Cleanup(func() {
		server.Close()
		store.Close()
	})
	return server.URL
}

var benchClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}

func post(url string, body []byte) error {
	resp, err := benchClient.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

const serialField = `{"version":4,"serial":`

// stateOf returns a state of about n bytes, made of resources as providers leave
// them: many short strings.
func stateOf(n int) []byte {
	var b bytes.Buffer
	b.WriteString(serialField + `         0,"lineage":"l","outputs":{},"resources":[`)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"mode":"managed","type":"cloud_thing","name":"thing_%d","provider":"provider[\"registry.example.org/cloud/cloud\"]",`+
			`"instances":[{"schema_version":0,"attributes":{"id":"%08x","tags":{"team":"storage","cost":"42"},"size":%d,"enabled":true,"note":null,`+
			`"description":"what this thing is for, in a \"sentence\""},"sensitive_attributes":[],"dependencies":["cloud_net.main"]}]}`, i, i*7919, i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// setSerial writes another serial into what stateOf returned.
func setSerial(state []byte, n int) { copy(state[len(serialField):], fmt.Sprintf("%10d", n)) }

// onDisk writes the two records of a write, each durably: the state's bytes, which
// are new, and the head, which is replaced.
func onDisk(path string, create, replace func(name string, data []byte) error) func(client, n int) error {
	body, head := stateOf(benchBytes), make([]byte, 8<<10)
	return func(client, n int) error {
		state := filepath.Join(path, fmt.Sprint(client))
		if n == 0 {
			if err := os.MkdirAll(filepath.Join(state, "versions"), 0o700); err != nil {
				return err
			}
		}
		return errors.Join(create(filepath.Join(state, "versions", fmt.Sprint(n)), body),
			replace(filepath.Join(state, "head"), head))
	}
}

func createNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

func replaceByRename(name string, data []byte) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close(), os.Rename(name+".tmp", name)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func replaceByExchange(name string, data []byte) error {
	f, err := os.OpenFile(name+".spare", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return errors.Join(os.WriteFile(name+".spare", data, 0o600), replaceByRename(name, data))
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, name+".spare", unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}
