package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner"
	"github.com/captf/captf-runner/runner/naming"
)

// newFlags ties the flags of `run` to the options. Their names are a contract (spec/runner.md, "run flags").
func newFlags(o *runner.Options) *flag.FlagSet {
	f := flag.NewFlagSet("captf-runner run", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the caller prints the error, once
	f.Usage = func() {}

	f.Var((*opFlag)(&o.Op), "op", "the `operation`: apply, destroy, refresh, drift, plan or restore")
	f.Var(newList(&o.Bin, runner.DefaultBin), "bin", "the tofu or terraform `binary`, a path or a name on PATH; repeat it for each further argument")
	f.StringVar(&o.Module, "module", runner.DefaultModule, "the module's `directory`")
	f.StringVar(&o.Config, "config", runner.DefaultConfig, "the `directory` of the rendered root")
	f.StringVar(&o.Providers, "providers", runner.DefaultProviders, "the `directory` of a provider mirror, used when it exists")
	f.StringVar(&o.Workdir, "workdir", runner.DefaultWorkdir, "a writable `directory`")
	f.StringVar(&o.Backend, "backend", "", "the `type` of the backend that --backend-config configures; inferred for kubernetes and http")
	f.Var(&listFlag{values: &o.BackendConfig, adds: true}, "backend-config", "a `key=value` for init; repeat it; adds to what CAPTF_BACKEND_CONFIG gives")
	f.Var(newList(&o.VarFiles), "var-file", "a `file` with variables besides the root's terraform.tfvars.json; repeat it")
	seconds(f, &o.LockTimeout, "lock-timeout", runner.DefaultLockTimeout, "the `time` that all waits for the lock may take together; 0 does not wait")
	seconds(f, &o.Deadline, "deadline", 0, "the `time` after which the run is stopped; 0 for none")
	seconds(f, &o.StopTimeout, "stop-timeout", runner.DefaultStopTimeout, "the `time` from the first SIGTERM to the last byte of the result; 0 kills at once, and may lose the state")
	f.IntVar(&o.InitRetries, "init-retries", runner.DefaultInitRetries, "the `number` of times that init is repeated after a failure that is known to pass")
	f.StringVar(&o.ForceUnlock, "force-unlock", "", "the `ID` of a stale lock to release first")
	f.StringVar(&o.InputsHash, "inputs-hash", "", "the `hash` of the rendered inputs")
	f.BoolVar(&o.GuardDeletes, "guard-deletes", false, "apply nothing that deletes or replaces a resource")
	f.StringVar(&o.AllowDeletesHash, "allow-deletes-hash", "", "the inputs `hash` for which --guard-deletes lets deletes through")
	f.StringVar(&o.ExpectPlan, "expect-plan", "", "apply only the plan with this `hash`")
	f.StringVar(&o.PlanKeyFile, "plan-key-file", "", "the `file` with the key of plan hashes, at least 32 bytes")
	f.IntVar(&o.RestoreChunks, "restore-chunks", 0, "the `number` of chunks in the folder restore of --config")
	f.IntVar(&o.RestoreResources, "restore-resources", 0, "the `number` of managed resources that the backup had: unless it is 0, an empty list after the restore is a failure")
	f.StringVar(&o.EventObject, "event-object", "", "`apiVersion/kind/namespace/name/uid` of the object to send events about")
	f.StringVar(&o.JobName, "job-name", "", "the `name` of this Job: the result that does not fit is kept in the ConfigMap <name>-result, the list of changes in <name>-changes")
	f.StringVar(&o.JobUID, "job-uid", "", "the `UID` of this Job, the owner of those ConfigMaps")
	f.StringVar(&o.Image, "image", "", "the image's `reference`, for the result")
	f.StringVar(&o.Result, "result", runner.DefaultResult, "the `file` for the result document")
	f.StringVar(&o.RescueDir, "rescue-dir", "", "a `directory` that outlives the pod, for a state that cannot be saved")
	f.StringVar(&o.DebugLog, "debug-log", "", "the `file` for the runtime's debug log, which may hold credentials")
	f.BoolVar(&o.Local, "local", false, "run without a cluster: the state is kept under ./.captf, --module is any root module")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the steps and run nothing")
	return f
}

// parseFlags reads the environment first and the arguments over it. It goes on after a mistake, so that
// --op and --result count wherever they stand, and returns the first one.
func parseFlags(f *flag.FlagSet, args, environ []string) error {
	err := parseEnv(f, environ)
	for len(args) > 0 {
		wrong := f.Parse(args)
		if errors.Is(wrong, flag.ErrHelp) {
			return wrong
		}
		args = f.Args()
		if wrong == nil && len(args) > 0 {
			wrong = fmt.Errorf("unexpected argument %q", args[0])
			args = args[1:]
		}
		if err == nil {
			err = wrong
		}
	}
	return err
}

// parseEnv sets each flag whose variable is not empty: a Job's template names every variable, also
// those that have no value.
func parseEnv(f *flag.FlagSet, environ []string) (err error) {
	f.VisitAll(func(fl *flag.Flag) {
		value := lookup(environ, envName(fl.Name))
		if value == "" {
			return
		}
		if wrong := setFromEnv(fl, value); wrong != nil && err == nil {
			if _, list := fl.Value.(*listFlag); list {
				value = "…" // it may hold a password
			}
			err = fmt.Errorf("invalid value %q for %s: %w", value, envName(fl.Name), wrong)
		}
	})
	return err
}

func envName(flag string) string {
	return "CAPTF_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// setFromEnv takes a list from the lines of the variable, or from a JSON array of strings: an element such as a
// PEM text may have several lines.
func setFromEnv(f *flag.Flag, value string) error {
	list, ok := f.Value.(*listFlag)
	if !ok {
		return f.Value.Set(value)
	}
	elements, err := elementsOf(value)
	for _, e := range elements {
		_ = list.Set(e)
	}
	list.replaced = false
	return err
}

func elementsOf(value string) (elements []string, err error) {
	if strings.HasPrefix(strings.TrimSpace(value), "[") {
		if json.Unmarshal([]byte(value), &elements) != nil {
			return nil, errors.New("it starts with [ and is no JSON array of strings")
		}
		return elements, nil
	}
	for line := range strings.Lines(value) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			elements = append(elements, line)
		}
	}
	return elements, nil
}

// opFlag is checked by the options' own validation, so that a result tells of it.
type opFlag naming.Op

func (o *opFlag) String() string     { return string(*o) }
func (o *opFlag) Set(s string) error { *o = opFlag(s); return nil }

// listFlag is given once for each element. The first one replaces what the environment or the default said, unless
// it adds to that.
type listFlag struct {
	values   *[]string
	replaced bool
	adds     bool
}

func newList(values *[]string, defaults ...string) *listFlag {
	*values = defaults
	return &listFlag{values: values}
}

func (l *listFlag) String() string {
	if l.values == nil {
		return ""
	}
	return strings.Join(*l.values, " ")
}

func (l *listFlag) Set(s string) error {
	if !l.replaced && !l.adds {
		*l.values, l.replaced = nil, true
	}
	*l.values = append(*l.values, s)
	return nil
}

// secondsFlag is a duration; a bare number is seconds, as in the objects' lockTimeoutSeconds.
type secondsFlag time.Duration

func seconds(f *flag.FlagSet, d *time.Duration, name string, value time.Duration, help string) {
	*d = value
	f.Var((*secondsFlag)(d), name, help)
}

func (s *secondsFlag) String() string { return time.Duration(*s).String() }

var errDuration = errors.New("neither a duration like 5m nor a number of seconds")

func (s *secondsFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, errNumber := strconv.ParseInt(text, 10, 32); errNumber == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil {
		return errDuration
	}
	*s = secondsFlag(d)
	return nil
}

func printUsage(f *flag.FlagSet, out io.Writer) {
	fmt.Fprintln(out, "usage: captf-runner run --op OPERATION [flags]")
	fmt.Fprintln(out, "\nEvery flag can also come from the environment, as CAPTF_ and its name; a repeated one as lines\nor a JSON array of strings. An empty variable counts as absent.")
	f.VisitAll(func(fl *flag.Flag) {
		name, help := flag.UnquoteUsage(fl)
		fmt.Fprintf(out, "  %s\n        %s", strings.TrimSpace("--"+fl.Name+" "+name), help)
		if fl.DefValue != "" && fl.DefValue != "false" && fl.DefValue != "0" && fl.DefValue != "0s" {
			fmt.Fprintf(out, " (default %s)", fl.DefValue)
		}
		fmt.Fprintln(out)
	})
}
