package e2e

import (
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
)

const (
	maxBinary   = 15 << 20 // bytes
	maxResident = 30 << 10 // KiB
)

func TestBinaryIsSmallAndStatic(t *testing.T) {
	path := tools.Build(t, "./cmd/captf-runner")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBinary {
		t.Errorf("captf-runner has %d bytes, at most %d are allowed: it is copied into every pod", info.Size(), maxBinary)
	}
	binary, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	for _, program := range binary.Progs {
		if program.Type == elf.PT_INTERP || program.Type == elf.PT_DYNAMIC {
			t.Errorf("captf-runner is not static: it has a segment %s", program.Type)
		}
	}
	for _, name := range []string{".symtab", ".debug_info", ".zdebug_info"} {
		if binary.Section(name) != nil {
			t.Errorf("captf-runner is not stripped: it has a section %s", name)
		}
	}
}

// moment is one in a run at which the runner's memory is looked at: when its child has made this file. The
// child may go on when file.seen is there.
type moment struct {
	file  string
	field string // of /proc/PID/status: VmHWM, the most so far, or VmRSS, now
}

// pause is the child's side of it, in a stub: pause FILE.
const pause = `pause() { touch "$1"; until [ -e "$1.seen" ]; do sleep 0.02; done; }
`

// procMemory reads one line of a process's status, in KiB.
func procMemory(pid int, field string) (int, error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), field+":")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	return strconv.Atoi(number)
}

// wantResident runs one operation that has to succeed, and looks at the runner's memory on the way.
func (f *fixture) wantResident(t *testing.T, moments []moment, op string, flags ...string) {
	t.Helper()
	cmd := f.command(t.Context(), op, flags...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for _, m := range moments {
		m.await(t, ended)
		kib, err := procMemory(cmd.Process.Pid, m.field)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s %d KiB", filepath.Base(m.file), m.field, kib)
		if kib > maxResident {
			t.Errorf("captf-runner had %d KiB in memory while its child worked, at most %d are allowed", kib, maxResident)
		}
		overwrite(t, m.file+".seen", "")
	}
	if err := <-ended; err != nil {
		t.Errorf("the run failed: %v", err)
	}
}

func (m moment) await(t *testing.T, ended <-chan error) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(m.file); err == nil {
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("the run ended before there was %s: %v", m.file, err)
		case <-tick.C:
		}
	}
}

func TestMemoryWhileApplying(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fixture) {
		f.write(t, "slow_override.tf", "resource \"probe_file\" \"second\" {\n  delay = \"1s\"\n}\n")
		f.wantResident(t, []moment{{filepath.Join(f.files, "first"), "VmHWM"}}, "apply")
	})
}

// A runtime that prints a lot waits until its output was measured.
func TestMemoryWithLargeOutput(t *testing.T) {
	const event = `{\"@message\":\"module.network.aws_subnet.private[%d]: Plan to create\",\"@module\":\"tofu.ui\",\"@timestamp\":\"2026-11-30T01:53:33.894008Z\",` +
		`\"change\":{\"resource\":{\"addr\":\"module.network.aws_subnet.private[%d]\",\"module\":\"module.network\",\"resource\":\"aws_subnet.private[%d]\",\"implied_provider\":\"aws\",` +
		`\"resource_type\":\"aws_subnet\",\"resource_name\":\"private\",\"resource_key\":%d},\"action\":\"create\"},\"type\":\"planned_change\"}`
	for name, script := range map[string]string{
		"a line of 10 MiB":      `head -c 10485760 /dev/zero | tr '\0' x; echo`,
		"an event of 10 MiB":    `printf '{"@message":"'; head -c 10485760 /dev/zero | tr '\0' x; echo '"}'`,
		"20 MiB of JSON events": `awk 'BEGIN { for (i = 0; i < 55000; i++) printf "` + event + `\n", i, i, i, i }'`,
		"20 MiB of text":        `yes 'Still creating... [10s elapsed]' | head -c 20971520`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newBadFixture(t)
			printed := filepath.Join(f.dir, "printed")
			f.stub(t, harmless+pause+`[ "$1" = apply ] || exit 0
`+script+`
pause '`+printed+`'`)
			f.wantResident(t, []moment{{printed, "VmHWM"}}, "apply", more()(f)...)
		})
	}
}

// The text of an init is shown when it fails, by a local run only then: none keeps it whole.
func TestMemoryWithLargeInit(t *testing.T) {
	for name, flags := range map[string]func(*fixture) []string{"backend": more(), "local": only("--local")} {
		t.Run(name, func(t *testing.T) {
			f := newBadFixture(t)
			printed := filepath.Join(f.dir, "printed")
			f.stub(t, harmless+pause+`[ "$1" = init ] || exit 0
yes 'Finding a version of something that init looks for' | head -c 52428800
pause '`+printed+`'`)
			f.wantResident(t, []moment{{printed, "VmHWM"}}, "apply", flags(f)...)
		})
	}
}

// What answers `version -json` may be any program.
func TestMemoryWithLargeVersion(t *testing.T) {
	f := newBadFixture(t)
	f.stub(t, `[ "$1" != version ] || exec head -c 104857600 /dev/zero`)
	most, err := peak(t, f.command(t.Context(), "apply", more()(f)...))
	t.Logf("%d KiB, %v", most, err)
	if err == nil || most > maxResident {
		t.Errorf("captf-runner had %d KiB in memory while its child worked, at most %d are allowed; the run ended with: %v", most, maxResident, err)
	}
}

// A plan of 20 MiB is read between two children: not while the first one writes it, and it is forgotten when
// the second one applies it.
func TestMemoryWithLargePlan(t *testing.T) {
	change := func(address, content string) string {
		return `{\"address\":\"` + address + `\",\"mode\":\"managed\",\"type\":\"a\",\"name\":\"b\",\"provider_name\":\"x\",\"change\":{\"actions\":[\"create\"],\"before\":null,` +
			`\"after\":{\"content\":\"` + content + `\"},\"after_unknown\":{\"id\":true},\"before_sensitive\":false,\"after_sensitive\":{}}}`
	}
	f := newBadFixture(t)
	shown, applying := filepath.Join(f.dir, "shown"), filepath.Join(f.dir, "applying")
	f.stub(t, harmless+pause+`case "$1" in
plan) exit 2 ;;
apply) pause '`+applying+`' ;;
show)
	awk 'BEGIN {
		printf "{\"format_version\":\"1.2\",\"terraform_version\":\"1.5.7\",\"resource_changes\":["
		for (i = 0; i < 22000; i++) printf "`+change("a.b[%d]", strings.Repeat("x", 750))+`,", i
		print "`+change("a.last", "")+`]}"
	}'
	pause '`+shown+`' ;;
esac`)
	f.wantResident(t, []moment{{shown, "VmHWM"}, {applying, "VmRSS"}}, "apply", more("--guard-deletes")(f)...)
	wantGone(t, filepath.Join(f.dir, "work", "captf.tfplan.json"))
}

// wantGone fails the test when a file with secrets outlives the run.
func wantGone(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", file, err)
	}
}

// A state of 40 MiB is put together before the first child is started.
func TestMemoryWithLargeRestore(t *testing.T) {
	f := newBadFixture(t)
	f.chunks(t, zipped(t, []byte(`{"version":4,"serial":1,"lineage":"l","outputs":{"x":{"value":"`+strings.Repeat("x", 40<<20)+`","type":"string"}}}`)))
	pushing := filepath.Join(f.dir, "pushing")
	f.stub(t, harmless+pause+`[ "$1 $2" != "state push" ] || pause '`+pushing+`'`)
	f.wantResident(t, []moment{{pushing, "VmRSS"}}, "restore", more("--restore-chunks", "1")(f)...)
	wantGone(t, filepath.Join(f.dir, "work", "restore.tfstate"))
}

// A test on the clock would fail on a busy machine. What a run costs until its child is there is compared
// with what the smallest command of a runtime costs, in CPU time.
func TestStartIsCheap(t *testing.T) {
	f := newBadFixture(t)
	f.runtime.Path = "/bin/false"
	run := leastCPU(t, func() *exec.Cmd { return f.command(t.Context(), "apply", more()(f)...) })
	for _, runtime := range tools.Runtimes(t) {
		version := leastCPU(t, func() *exec.Cmd { return exec.CommandContext(t.Context(), runtime.Path, "version") })
		t.Logf("captf-runner %s, %s version %s", run, runtime.Name, version)
		if run > version {
			t.Errorf("captf-runner needs %s of CPU to start two children, more than the %s of `%s version`", run, version, runtime.Name)
		}
	}
}

// leastCPU is the least user and system time of several runs, children included.
func leastCPU(t *testing.T, command func() *exec.Cmd) time.Duration {
	t.Helper()
	least := time.Hour
	for range 10 {
		cmd := command()
		_ = cmd.Run() // some are meant to fail
		if cmd.ProcessState == nil {
			t.Fatalf("%s did not start", cmd)
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return least
}

// Every process of a runtime costs about as much as half an init: the version comes out of the steps themselves.
func TestNoProcessForTheVersion(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newHTTP)
		overwrite(t, filepath.Join(f.dir, "plan.key"), strings.Repeat("k", 32))
		calls := f.record(t)
		for _, op := range []string{"plan", "apply", "drift", "refresh", "destroy"} {
			o := f.must(t, 0, op, "--plan-key-file", filepath.Join(f.dir, "plan.key"))
			for _, c := range calls.calls(t) {
				if c.step() == "version" {
					t.Errorf("%s: `version` was called", op)
				}
			}
			if o.result.Runtime.Version == "" {
				t.Errorf("%s: no version in the result\n%s", op, o)
			}
		}
	})
}
