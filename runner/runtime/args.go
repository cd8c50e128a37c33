package runtime

import (
	"strconv"
	"time"
)

// Args builds the argv of each step, without the binary (spec/runner.md, "Steps").
type Args struct {
	LockTimeout   time.Duration // handed on in whole seconds, rounded down
	BackendConfig []string      // key=value, one argv element each however it is quoted
	VarFiles      []string      // for the steps that read variables
}

func (a Args) lockTimeout() string {
	return "-lock-timeout=" + strconv.FormatInt(int64(a.LockTimeout/time.Second), 10) + "s"
}

// common is what every step takes that may wait for the lock.
func (a Args) common(command string) []string {
	return []string{command, "-input=false", "-no-color", a.lockTimeout()}
}

func (a Args) withVariables(args []string) []string {
	for _, file := range a.VarFiles {
		args = append(args, "-var-file="+file)
	}
	return args
}

// Init always passes -reconfigure: a directory that is used again must never migrate a state.
func (a Args) Init() []string {
	args := append(a.common("init"), "-reconfigure")
	for _, setting := range a.BackendConfig {
		args = append(args, "-backend-config="+setting)
	}
	return args
}

// Apply plans and applies in one step.
func (a Args) Apply() []string {
	return a.withVariables(append(a.common("apply"), "-json", "-auto-approve"))
}

// ApplyPlan applies a saved plan, which holds its variables.
func (a Args) ApplyPlan(plan string) []string {
	return append(a.common("apply"), "-json", plan)
}

// Destroy destroys everything in the state.
func (a Args) Destroy() []string {
	return a.withVariables(append(a.common("destroy"), "-json", "-auto-approve"))
}

// RefreshOnly brings the state up to date with the real resources and changes none of them.
func (a Args) RefreshOnly() []string {
	return a.withVariables(append(a.common("apply"), "-json", "-refresh-only", "-auto-approve"))
}

// Plan saves a plan to a file. A drift check plans right after a refresh and does without another.
func (a Args) Plan(out string, refresh bool) []string {
	args := append(a.common("plan"), "-json", "-detailed-exitcode")
	if !refresh {
		args = append(args, "-refresh=false")
	}
	return append(a.withVariables(args), "-out="+out)
}

// Show prints a saved plan as JSON.
func (a Args) Show(plan string) []string {
	return []string{"show", "-json", "-no-color", plan}
}

// ForceUnlock releases the lock with this ID.
func (a Args) ForceUnlock(id string) []string {
	return []string{"force-unlock", "-no-color", "-force", id}
}

// StatePush writes a state under the lock. With force it is a restore: serial and lineage are not compared.
func (a Args) StatePush(file string, force bool) []string {
	args := []string{"state", "push", a.lockTimeout()}
	if force {
		args = append(args, "-force")
	}
	return append(args, file)
}

// StatePull prints the state. It takes no lock.
func (a Args) StatePull() []string { return []string{"state", "pull"} }

// StateList lists the resources in the state.
func (a Args) StateList() []string { return []string{"state", "list"} }

// Version asks the runtime for its version.
func (a Args) Version() []string { return []string{"version", "-json"} }
