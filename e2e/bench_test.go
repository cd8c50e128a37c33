package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/e2e/internal/kubetest"
	"github.com/captf/captf-runner/e2e/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
)

// job is one first apply of 20 resources, to a state of its own.
type job struct {
	dir      string // with the root in config
	runtime  string
	settings []string // of the backend
	env      []string
}

const benchModule = `
terraform {
  backend %q {}
}
variable "text" {}
resource "terraform_data" "it" {
  count = 20
  input = "${var.text} ${count.index}"
}
`

func newJob(b *testing.B, runtime, kind string, settings, env []string) job {
	b.Helper()
	j := job{dir: b.TempDir(), runtime: runtime, settings: settings}
	j.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + j.dir, "TF_CLI_CONFIG_FILE=" + filepath.Join(j.dir, "cli.tfrc"),
		"TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
	}, env...)
	for name, text := range map[string]string{
		"config/main.tf":               fmt.Sprintf(benchModule, kind),
		"config/terraform.tfvars.json": `{"text": "hello"}`,
		"cli.tfrc":                     "disable_checkpoint = true\n",
	} {
		path := filepath.Join(j.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return j
}

// runner is the job as the runner does it.
func (j job) runner(b *testing.B, flags ...string) *exec.Cmd {
	b.Helper()
	args := []string{"run", "--op", "apply", "--bin", j.runtime, "--module", "config", "--config", "config",
		"--workdir", "work", "--result", "result.json", "--providers", ""}
	for _, setting := range j.settings {
		args = append(args, "--backend-config", setting)
	}
	cmd := exec.Command(tools.Build(b, "./cmd/captf-runner"), append(args, flags...)...)
	cmd.Dir, cmd.Env = j.dir, j.env
	return cmd
}

// shell is the job as a person types it: the very commands that the runner would run, joined by &&.
func (j job) shell(b *testing.B) *exec.Cmd {
	b.Helper()
	dry := j.runner(b, "--dry-run")
	out, err := dry.Output()
	if err != nil {
		b.Fatalf("%s: %v", dry, err)
	}
	var commands []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, j.runtime+" ") {
			commands = append(commands, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(commands) != 2 {
		b.Fatalf("init and apply are two commands, not\n%s", out)
	}
	cmd := exec.Command("sh", "-c", strings.Join(commands, " && "))
	cmd.Dir, cmd.Env = filepath.Join(j.dir, "config"), j.env
	return cmd
}

// cost is what one run took, of the machine with all its processes.
type cost struct{ wall, cpu float64 } // milliseconds

func measure(b *testing.B, cmd *exec.Cmd) cost {
	b.Helper()
	output, err := os.Create(filepath.Join(b.TempDir(), "output"))
	if err != nil {
		b.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	if err != nil {
		text, _ := os.ReadFile(output.Name())
		b.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return cost{wall: milliseconds(wall), cpu: milliseconds(cpu)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(costs []cost, of func(cost) float64) float64 {
	var values []float64
	for _, c := range costs {
		values = append(values, of(c))
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func wall(c cost) float64 { return c.wall }
func cpu(c cost) float64  { return c.cpu }

// BenchmarkApply compares an apply through the runner with `init && apply` typed in a shell, in pairs that
// take turns at being first. Run it with -benchtime 10x or more, on a quiet machine: the metrics are
// medians.
func BenchmarkApply(b *testing.B) {
	for _, runtime := range tools.Runtimes(b) {
		for name, place := range map[string]func(*testing.B) func(int) job{
			"http":       func(b *testing.B) func(int) job { return jobsOnStateServer(b, runtime.Path) },
			"kubernetes": func(b *testing.B) func(int) job { return jobsOnKubernetes(b, runtime.Path) },
		} {
			b.Run(runtime.Name+"/"+name, func(b *testing.B) { comparePairs(b, place(b)) })
		}
	}
}

func comparePairs(b *testing.B, next func(int) job) {
	var typed, run []cost
	for i := range b.N {
		shell, runner := next(2*i).shell(b), next(2*i+1).runner(b)
		if i%2 == 0 {
			typed = append(typed, measure(b, shell))
		}
		run = append(run, measure(b, runner))
		if i%2 == 1 {
			typed = append(typed, measure(b, shell))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(typed, wall), "shell-ms")
	b.ReportMetric(median(run, wall), "runner-ms")
	b.ReportMetric(median(run, wall)/median(typed, wall), "ratio")
	b.ReportMetric(median(run, cpu)/median(typed, cpu), "cpu-ratio")
}

// jobsOnStateServer gives jobs on the http backend, with a state server in a process of its own.
func jobsOnStateServer(b *testing.B, runtime string) func(int) job {
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
	return func(i int) job {
		url := fmt.Sprintf("http://127.0.0.1:%s/states/bench-%s-%d-%d", bytes.TrimSpace(port), filepath.Base(runtime), b.N, i)
		return newJob(b, runtime, "http", []string{"address=" + url, "lock_address=" + url, "unlock_address=" + url}, nil)
	}
}

// jobsOnKubernetes gives jobs on the kubernetes backend, with the rights of a Job's ServiceAccount.
func jobsOnKubernetes(b *testing.B, runtime string) func(int) job {
	server := kubetest.Shared(b)
	namespace := server.Namespace(b)
	kubeconfig := server.Kubeconfig(b, namespace, server.RunnerRules())
	return func(i int) job {
		settings, err := naming.BackendConfig(naming.Object{Kind: naming.Cluster, Namespace: namespace, Name: fmt.Sprintf("bench-%d-%d", b.N, i), Cluster: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		settings = slices.DeleteFunc(settings, func(s string) bool { return s == "in_cluster_config=true" })
		return newJob(b, runtime, "kubernetes", append(settings, "config_path="+kubeconfig), nil)
	}
}

// BenchmarkStart measures the time from the start of the runner to that of its first child, which is a
// shell that asks the clock: its own start is part of the figure.
func BenchmarkStart(b *testing.B) {
	stub := filepath.Join(b.TempDir(), "runtime")
	if err := os.WriteFile(stub, []byte("#!/bin/sh\ndate +%s%N >>clock\nexit 1\n"), 0o700); err != nil {
		b.Fatal(err)
	}
	var starts []cost
	for range b.N {
		j := newJob(b, stub, "http", []string{"address=http://127.0.0.1:9"}, nil)
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
	b.ReportMetric(median(starts, wall), "start-ms")
}

// BenchmarkFootprint reports the size of the binary, and the most memory that it had during an apply.
func BenchmarkFootprint(b *testing.B) {
	info, err := os.Stat(tools.Build(b, "./cmd/captf-runner"))
	if err != nil {
		b.Fatal(err)
	}
	next := jobsOnKubernetes(b, tools.Bin(b, "tofu"))
	most := 0
	for i := range b.N {
		most = max(most, peak(b, next(i).runner(b)))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(info.Size()), "binary-bytes")
	b.ReportMetric(float64(most), "resident-KiB")
}

// peak runs a command and returns the most memory that it was seen to have had, in KiB.
func peak(b *testing.B, cmd *exec.Cmd) int {
	b.Helper()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	most := 0
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("%s: %v", cmd, err)
			}
			return most
		case <-tick.C:
			if kib, err := procMemory(cmd.Process.Pid, "VmHWM"); err == nil {
				most = max(most, kib)
			}
		}
	}
}
