package statesrv_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkRead is a GET of states of several sizes: the memory that it takes, the
// client's included, does not depend on the size.
func BenchmarkRead(b *testing.B) {
	server := slowness(0).server(b)
	for _, mib := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%dMiB", mib), func(b *testing.B) {
			url := fmt.Sprintf("%s/states/read-%d", server, mib)
			if err := post(url, stateOf(mib<<20-4096)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(mib) << 20)
			for b.Loop() {
				resp, err := benchClient.Get(url)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				if err := errors.Join(err, resp.Body.Close()); err != nil || n < int64(mib)<<20-8192 {
					b.Fatalf("%d bytes, %v", n, err)
				}
			}
		})
	}
}

// BenchmarkLock is a lock and its unlock, by 32 clients on distinct states.
func BenchmarkLock(b *testing.B) {
	server := slowness(0).server(b)
	locks, unlocks := &latencies{}, &latencies{}
	var group sync.WaitGroup
	for client := range benchClients {
		url := fmt.Sprintf("%s/states/s%d", server, client)
		group.Go(func() {
			for range max(1, b.N/benchClients) {
				err := errors.Join(locks.time(func() error { return request("LOCK", url) }),
					unlocks.time(func() error { return request("UNLOCK", url) }))
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	locks.report(b, "lock")
	unlocks.report(b, "unlock")
	b.ReportMetric(0, "ns/op")
}

func request(method, url string) error {
	req, err := http.NewRequest(method, url, strings.NewReader(lockA))
	if err != nil {
		return err
	}
	resp, err := benchClient.Do(req)
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

type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) time(do func() error) error {
	start := time.Now()
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, time.Since(start))
	return err
}

func (l *latencies) report(b *testing.B, name string) {
	slices.Sort(l.all)
	for _, percent := range []int{50, 99} {
		at := l.all[min(len(l.all)-1, len(l.all)*percent/100)]
		b.ReportMetric(float64(at.Microseconds())/1e3, fmt.Sprintf("%s-p%d-ms", name, percent))
	}
}
