package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
)

// BenchmarkApply compares an apply through the runner with `init && apply` typed in a shell, in pairs that
// take turns at being first. The metrics are medians, a ratio is that of the pairs' ratios: a machine that is slow for
// a while is slow for both halves of a pair. Run it with -benchtime 10x or more, on a quiet machine.
func BenchmarkApply(b *testing.B) {
	places := map[string]func(*testing.B) func() []string{"http": onStateServer, "kubernetes": onAPIServer}
	for _, runtime := range tools.Runtimes(b) {
		for _, backend := range []string{"http", "kubernetes"} {
			for _, module := range []string{"bare", "provider"} {
				b.Run(runtime.Name+"/"+backend+"/"+module, func(b *testing.B) {
					settings := places[backend](b)
					comparePairs(b, func() job { return newJob(b, runtime.Path, module, backend, settings()) })
				})
			}
		}
	}
}

func comparePairs(b *testing.B, next func() job) {
	var typed, run []cost
	for i := range b.N {
		shell, runner := next().shell(b), next().runner(b)
		if i%2 == 0 {
			typed = append(typed, measure(b, shell))
		}
		run = append(run, measure(b, runner))
		if i%2 == 1 {
			typed = append(typed, measure(b, shell))
		}
	}
	b.ReportMetric(0, "ns/op")
	ratios := make([]cost, b.N)
	for i := range ratios {
		ratios[i] = cost{wall: run[i].wall / typed[i].wall, cpu: run[i].cpu / typed[i].cpu}
	}
	b.ReportMetric(median(typed).wall, "shell-ms")
	b.ReportMetric(median(run).wall, "runner-ms")
	b.ReportMetric(median(ratios).wall, "ratio")
	b.ReportMetric(median(ratios).cpu, "cpu-ratio")
}

// median is the median of each of the two figures.
func median(costs []cost) cost {
	of := func(figure func(cost) float64) float64 {
		values := make([]float64, len(costs))
		for i, c := range costs {
			values[i] = figure(c)
		}
		slices.Sort(values)
		n := len(values)
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	return cost{
		wall: of(func(c cost) float64 { return c.wall }),
		cpu:  of(func(c cost) float64 { return c.cpu }),
	}
}

// onStateServer gives settings of the http backend, for one new state after the other in a statesrv of its own process.
func onStateServer(b *testing.B) func() []string {
	dir := b.TempDir()
	portFile := filepath.Join(dir, "port")
	server := exec.Command(tools.Build(b, "./cmd/statesrv"), "serve", "--data", filepath.Join(dir, "data"), "--port", "0", "--port-file", portFile)
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	var port []byte
	for deadline := time.Now().Add(time.Minute); len(port) == 0; time.Sleep(10 * time.Millisecond) {
		if port, _ = os.ReadFile(portFile); time.Now().After(deadline) {
			b.Fatal("statesrv does not start")
		}
	}
	i := 0
	return func() []string {
		i++
		url := fmt.Sprintf("http://127.0.0.1:%s/states/bench-%d", bytes.TrimSpace(port), i)
		return []string{"address=" + url, "lock_address=" + url, "unlock_address=" + url}
	}
}

// onAPIServer gives settings of the kubernetes backend, with the rights of a Job's ServiceAccount.
func onAPIServer(b *testing.B) func() []string {
	server := kubetest.Shared(b)
	namespace := server.Namespace(b)
	kubeconfig := server.Kubeconfig(b, namespace, server.RunnerRules())
	i := 0
	return func() []string {
		i++
		settings, err := naming.BackendConfig(naming.Object{Kind: naming.Cluster, Namespace: namespace, Name: fmt.Sprintf("bench-%d", i), Cluster: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		settings = slices.DeleteFunc(settings, func(s string) bool { return s == "in_cluster_config=true" })
		return append(settings, "config_path="+kubeconfig)
	}
}

// BenchmarkStart measures the time from the start of the runner to that of its first child. That is a shell
// which asks the clock: what it takes to do so, about 2 ms, is part of the figure.
func BenchmarkStart(b *testing.B) {
	stub := filepath.Join(b.TempDir(), "runtime")
	if err := os.WriteFile(stub, []byte("#!/bin/sh\ndate +%s%N >>clock\nexit 1\n"), 0o700); err != nil {
		b.Fatal(err)
	}
	var starts []cost
	for range b.N {
		j := newJob(b, stub, "bare", "http", []string{"address=http://127.0.0.1:9"})
		cmd := j.runner(b)
		start := time.Now()
		_ = cmd.Run() // the stub fails
		clock, err := os.ReadFile(filepath.Join(j.dir, "work", "root", "clock"))
		if err != nil {
			b.Fatal(err)
		}
		var first int64
		if _, err := fmt.Sscan(string(clock), &first); err != nil {
			b.Fatal(err)
		}
		starts = append(starts, cost{wall: milliseconds(time.Unix(0, first).Sub(start))})
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(starts).wall, "start-ms")
}

// BenchmarkFootprint reports the size of the binary, and the most memory that the runner had during an apply.
func BenchmarkFootprint(b *testing.B) {
	info, err := os.Stat(tools.Build(b, "./cmd/captf-runner"))
	if err != nil {
		b.Fatal(err)
	}
	settings := onAPIServer(b)
	most := 0
	for range b.N {
		kib, err := peak(b, newJob(b, tools.Bin(b, "tofu"), "bare", "kubernetes", settings()).runner(b))
		if err != nil {
			b.Fatal(err)
		}
		most = max(most, kib)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(info.Size()), "binary-bytes")
	b.ReportMetric(float64(most), "resident-KiB")
}

// peak runs a command and returns the most memory that it was seen to have had, in KiB, and how it ended.
func peak(tb testing.TB, cmd *exec.Cmd) (int, error) {
	tb.Helper()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	most := 0
	for {
		select {
		case err := <-ended:
			return most, err
		case <-tick.C:
			if kib, err := procMemory(cmd.Process.Pid, "VmHWM"); err == nil {
				most = max(most, kib)
			}
		}
	}
}
