package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/naming"
)

// The places of the image contract, where the flags have their defaults.
const (
	DefaultBin         = naming.RuntimePath
	DefaultModule      = naming.ModulePath
	DefaultConfig      = naming.ConfigPath
	DefaultProviders   = naming.ProvidersPath
	DefaultWorkdir     = naming.WorkPath
	DefaultResult      = "/dev/termination-log"
	DefaultLockTimeout = 5 * time.Minute
	DefaultStopTimeout = 60 * time.Second
	DefaultInitRetries = 4
)

// Options are the flags of `captf-runner run` (spec/runner.md, "run flags").
type Options struct {
	Op        naming.Op
	Bin       []string // the runtime's command, one argv element each
	Module    string
	Config    string
	Providers string
	Workdir   string

	Backend       string   // the backend's type; empty: inferred from BackendConfig
	BackendConfig []string // key=value
	VarFiles      []string // besides the root's own terraform.tfvars.json

	LockTimeout time.Duration // bounds the sum of all waits of the run; 0 does not wait
	Deadline    time.Duration // 0: none
	StopTimeout time.Duration // from the first signal to the last byte of the result
	InitRetries int           // how often init is repeated after a failure that is known to pass

	ForceUnlock string // a lock ID that the controller found stale

	InputsHash       string
	GuardDeletes     bool
	AllowDeletesHash string
	ExpectPlan       string
	PlanKeyFile      string
	RestoreChunks    int
	RestoreResources int
	Image            string
	EventObject      string
	JobName          string
	JobUID           string
	Result           string
	RescueDir        string
	DebugLog         string
	Local            bool
	DryRun           bool

	ownResult bool // Result is where a local run of this module leaves it by itself
}

// The marks of errors that are found before anything runs.
var (
	errUsage  = errors.New("usage")        // the caller of the runner has to change something: exit code 2
	errLayout = errors.New("image layout") // the image does not keep the image contract
)

// marked is an error with a mark that errors.Is finds, and that no text repeats: the result has it.
type marked struct {
	error
	mark error
}

func (m marked) Unwrap() []error { return []error{m.error, m.mark} }

func usagef(format string, args ...any) error {
	return marked{fmt.Errorf(format, args...), errUsage}
}

func layoutf(format string, args ...any) error {
	return marked{fmt.Errorf(format, args...), errLayout}
}

// Validate refuses options that cannot work together. Its errors name the flag, the value and what would do.
func (o Options) Validate() error {
	if o.Op == "" {
		return usagef("--op is missing: use one of %v", naming.Ops())
	}
	if _, err := naming.ParseOp(string(o.Op)); err != nil {
		return usagef("--op: %w", err)
	}
	for _, check := range []func() error{o.validateTimes, o.validateApprovals, o.validateRestore, o.validateLocal, o.validateEvents} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) validateTimes() error {
	switch {
	case o.LockTimeout < 0:
		return usagef("--lock-timeout %s is negative: use 0 to not wait", o.LockTimeout)
	case o.Deadline < 0:
		return usagef("--deadline %s is negative: leave it out for none", o.Deadline)
	case o.StopTimeout < 0:
		return usagef("--stop-timeout %s is negative: use 0 to kill at once", o.StopTimeout)
	case o.Deadline > 0 && o.LockTimeout >= o.Deadline:
		return usagef("--lock-timeout %s is not below --deadline %s: a run could wait for the lock until it is killed", o.LockTimeout, o.Deadline)
	case o.InitRetries < 0:
		return usagef("--init-retries %d is negative: use 0 to not repeat", o.InitRetries)
	}
	return nil
}

// needsPlanKey tells whether the run will print or compare a plan hash.
func (o Options) needsPlanKey() bool { return o.Op == naming.Plan || o.ExpectPlan != "" }

var planHash = pattern(`^p2:[0-9a-f]+$`)

func (o Options) validateApprovals() error {
	switch {
	case (o.GuardDeletes || o.ExpectPlan != "") && o.Op != naming.Apply:
		return usagef("--guard-deletes and --expect-plan work with --op apply, not %s", o.Op)
	case o.ExpectPlan != "" && !planHash().MatchString(o.ExpectPlan):
		return usagef("--expect-plan %s is no hash of a plan: give the one that --op plan tells, p2:…", o.ExpectPlan)
	case o.needsPlanKey() && o.PlanKeyFile == "" && !o.Local:
		return usagef("--plan-key-file is missing: --op plan and --expect-plan need the key of the plan hash")
	}
	return nil
}

func (o Options) validateRestore() error {
	switch {
	case o.Op != naming.Restore:
		return nil
	case o.Config == "":
		return usagef("--config is missing: --op restore reads the backup from the folder restore in it")
	case o.RestoreChunks < 1 || o.RestoreChunks > 32:
		return usagef("--restore-chunks %d is not between 1 and 32", o.RestoreChunks)
	case o.RestoreResources < 0:
		return usagef("--restore-resources %d is negative", o.RestoreResources)
	}
	return nil
}

func (o Options) validateLocal() error {
	if o.Local && (len(o.BackendConfig) > 0 || o.Backend != "") {
		return usagef("--local keeps the state itself: leave out --backend and --backend-config")
	}
	return nil
}

func (o Options) validateEvents() error {
	if o.EventObject == "" {
		return nil
	}
	_, err := parseEventObject(o.EventObject)
	return err
}

// absolute makes every path absolute, because the steps run in another directory.
func (o Options) absolute() (Options, error) {
	paths := []*string{&o.Module, &o.Config, &o.Providers, &o.Workdir, &o.PlanKeyFile, &o.RescueDir, &o.DebugLog}
	o.Bin, o.VarFiles = slices.Clone(o.Bin), slices.Clone(o.VarFiles)
	if len(o.Bin) > 0 && strings.ContainsRune(o.Bin[0], filepath.Separator) { // else it is a name on PATH
		paths = append(paths, &o.Bin[0])
	}
	for i := range o.VarFiles {
		paths = append(paths, &o.VarFiles[i])
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	return o, o.checkVarFiles()
}

func (o Options) checkVarFiles() error {
	for _, path := range o.VarFiles {
		file, err := os.Open(path)
		if err == nil {
			_, err = file.Read(make([]byte, 1)) // a directory can be opened
			_ = file.Close()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return usagef("--var-file: %w: name a file that can be read", err)
		}
	}
	return nil
}
