package statesrv_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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
// machine does. It does so on the disk as it is, and as on one whose fsyncs take
// longer: there is no slow disk on every machine, so each fsync waits before it starts.
func BenchmarkWrite(b *testing.B) {
	for _, fsync := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond} {
		b.Run(fmt.Sprintf("fsync+%s", fsync), slowness(fsync).compare)
	}
}

func (s slowness) compare(b *testing.B) {
	kinds := []*writer{
		{name: "http", write: overHTTP(b, s.server(b))},
		{name: "files", write: s.onDisk(spread(b), s.replaceByRename, s.replaceByRename)},
		{name: "calls", write: s.onDisk(spread(b), s.createNew, s.replaceByExchange)},
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

// server serves a directory and returns the URL.
func (s slowness) server(b *testing.B) string {
	store, err := dir.Open(b.Context(), spread(b), dir.Options{Fault: func(step, _ string) error {
		if strings.HasPrefix(step, "fsync") {
			s.wait()
		}
		return nil
	}})
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
