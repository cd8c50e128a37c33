package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/e2e/internal/tools"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"

	"net/http/httptest"
)

const twentyResources = `
terraform {
  backend "http" {}
}
resource "terraform_data" "x" {
  count = 20
  input = count.index
}
`

// BenchmarkApply compares a first apply of 20 resources through the runner with the same init and apply typed into
// a shell, in turns, so that both see the same machine. It reports the ratio of the medians.
func BenchmarkApply(b *testing.B) {
	for _, runtime := range tools.Runtimes(b) {
		b.Run(runtime.Name, func(b *testing.B) { compareApply(b, runtime.Path) })
	}
}

func compareApply(b *testing.B, runtime string) {
	runner := tools.Build(b, "./cmd/captf-runner")
	var shell, ours []time.Duration
	for range b.N {
		shell = append(shell, timed(b, func(dir, url string) *exec.Cmd {
			cmd := exec.Command("/bin/sh", "-c", `"$0" init -input=false -no-color -reconfigure && "$0" apply -input=false -no-color -json -auto-approve`, runtime)
			cmd.Dir = filepath.Join(dir, "config")
			cmd.Env = append(os.Environ(), "TF_HTTP_ADDRESS="+url, "TF_HTTP_LOCK_ADDRESS="+url, "TF_HTTP_UNLOCK_ADDRESS="+url,
				"TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "HOME="+dir)
			return cmd
		}))
		ours = append(ours, timed(b, func(dir, url string) *exec.Cmd {
			cmd := exec.Command(runner, "run", "--op", "apply", "--bin", runtime, "--module", filepath.Join(dir, "config"), "--config", filepath.Join(dir, "config"),
				"--workdir", filepath.Join(dir, "work"), "--result", filepath.Join(dir, "result.json"),
				"--backend-config", "address="+url, "--backend-config", "lock_address="+url, "--backend-config", "unlock_address="+url)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			return cmd
		}))
	}
	b.ReportMetric(median(shell).Seconds()*1000, "shell-ms")
	b.ReportMetric(median(ours).Seconds()*1000, "runner-ms")
	b.ReportMetric(median(ours).Seconds()/median(shell).Seconds(), "ratio")
	b.ReportMetric(0, "ns/op") // of a pair, which says nothing
}

// timed runs a command on a state and a folder of its own.
func timed(b *testing.B, command func(dir, url string) *exec.Cmd) time.Duration {
	b.Helper()
	server := httptest.NewServer(statesrv.NewHandler(statesrv.NewStates(memory.New(), statesrv.Rules{}), statesrv.HandlerOptions{}))
	defer server.Close()
	dir := b.TempDir()
	config := filepath.Join(dir, "config")
	if err := os.Mkdir(config, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "main.tf"), []byte(twentyResources), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := command(dir, server.URL+"/states/x")
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// atStart is a runtime that only tells when it was started: a stub, so that nothing but the runner takes time.
const atStart = `#!/bin/sh
[ "$1" != init ] || date +%s%N >"$0.init"
[ "$1" != version ] || echo '{"terraform_version":"1.5.7"}'
`

// BenchmarkStart measures the time from the start of the runner to its first child, less what the child itself
// takes to tell the time.
func BenchmarkStart(b *testing.B) {
	runner := tools.Build(b, "./cmd/captf-runner")
	info, err := os.Stat(runner)
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for range b.N {
		dir := b.TempDir()
		stub := filepath.Join(dir, "stub")
		if err := os.WriteFile(stub, []byte(atStart), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(twentyResources), 0o600); err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(runner, "run", "--op", "refresh", "--bin", stub, "--module", dir, "--config", dir,
			"--workdir", filepath.Join(dir, "work"), "--result", filepath.Join(dir, "result.json"), "--backend-config", "address=http://127.0.0.1:1/x")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(stub + ".init")
		if err != nil {
			b.Fatal(err)
		}
		at, err := time.ParseDuration(strings.TrimSpace(string(text)) + "ns")
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Unix(0, int64(at)).Sub(start))
	}
	b.ReportMetric(median(took).Seconds()*1000, "first-child-ms")
	b.ReportMetric(float64(info.Size())/(1<<20), "binary-MiB")
	b.ReportMetric(0, "ns/op")
}
