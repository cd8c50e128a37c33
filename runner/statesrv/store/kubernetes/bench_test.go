package kubernetes

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/statesrv"
)

// BenchmarkRead is a GET of states of several sizes that compress to half, through a real
// API server. Its metrics are the most bytes of heap that were in use at a time, the
// client's included, and what of them a collection found alive.
func BenchmarkRead(b *testing.B) {
	server := kubetest.Shared(b)
	namespace := server.Namespace(b)
	s := openAt(b, "kubernetes://"+namespace, server.Kubeconfig(b, namespace, rules))
	states := httptest.NewServer(statesrv.NewHandler(statesrv.NewStates(s, statesrv.Rules{}), statesrv.HandlerOptions{}))
	defer states.Close()
	for _, mib := range []int{1, 16, 60} {
		b.Run(fmt.Sprintf("%dMiB", mib), func(b *testing.B) {
			url := fmt.Sprintf("%s/states/read-%d", states.URL, mib)
			if err := post(url, mib<<20); err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			inUse, live := uint64(0), uint64(0)
			for b.Loop() {
				if err := read(url, int64(mib)<<20, func() {
					now := heap()
					inUse, live = max(inUse, now[0]), max(live, now[1])
				}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(inUse)/(1<<20), "heap-MiB")
			b.ReportMetric(float64(live)/(1<<20), "live-MiB")
		})
	}
}

// heap returns the bytes of heap in use, and those of them that the last collection
// found alive.
func heap() [2]uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return [2]uint64{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

func post(url string, size int) error {
	noise := make([]byte, size/2)
	_, _ = rand.Read(noise)
	body := fmt.Sprintf(`{"version":4,"serial":1,"lineage":"l","resources":[%q]}`, hex.EncodeToString(noise))
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", resp.Status, text)
	}
	return err
}

// read calls watch every 256 KiB.
func read(url string, least int64, watch func()) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var size int64
	for {
		n, err := io.CopyN(io.Discard, resp.Body, 256<<10)
		watch()
		if size += n; errors.Is(err, io.EOF) && size >= least {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%d bytes: %w", size, err)
		}
	}
}
