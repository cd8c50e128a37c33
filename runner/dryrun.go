package runner

import (
	"fmt"
	"io"
	"strings"

	"github.com/captf/captf-runner/runner/naming"
)

// dryRun prints the steps with their exact argv, and what the environment would lose. It runs nothing.
func (r *run) dryRun() error {
	w := &strings.Builder{}
	// The run itself would not work in the directory that this look at it does.
	actual := newWorkspace(r.opts.Workdir)
	actual.root = actual.dir + strings.TrimPrefix(r.work.root, r.work.dir)
	fmt.Fprintf(w, "%s on %s, in %s\n", r.opts.Op, r.object(), actual.root)
	for _, args := range r.argvs(actual) {
		fmt.Fprintln(w, quoteArgs(append(r.rt.Command[:len(r.rt.Command):len(r.rt.Command)], args...)))
	}
	printDropped(w, r.report.Env.Dropped)
	if _, err := io.WriteString(r.host.Out, w.String()); err != nil {
		return fmt.Errorf("print the steps: %w", err)
	}
	return nil
}

// argvs are the steps of the operation as they would run if each one had something to do.
func (r *run) argvs(work workspace) [][]string {
	a, planFile := r.args(), work.plan()
	all := [][]string{a.Init()}
	if r.opts.ForceUnlock != "" {
		all = append(all, a.ForceUnlock(r.opts.ForceUnlock))
	}
	planned := [][]string{a.Plan(planFile, true), a.Show(planFile)}
	switch r.opts.Op {
	case naming.Apply:
		if !r.opts.GuardDeletes && r.opts.ExpectPlan == "" {
			return append(all, a.Apply())
		}
		return append(append(all, planned...), a.ApplyPlan(planFile))
	case naming.Destroy:
		return append(all, a.Destroy())
	case naming.Refresh:
		return append(all, a.RefreshOnly())
	case naming.Drift:
		return append(all, a.RefreshOnly(), a.Plan(planFile, false), a.Show(planFile))
	case naming.Plan:
		return append(all, planned...)
	default:
		return append(all, a.StatePush(restoreFile(work), true), a.StateList())
	}
}

func printDropped(w io.Writer, names []string) {
	if len(names) == 0 {
		names = []string{"nothing"}
	}
	fmt.Fprintf(w, "dropped from the environment: %s\n", strings.Join(names, ", "))
}

// quoteArgs writes an argv so that it can be pasted into a shell.
func quoteArgs(argv []string) string {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'`$\\*?[]{}()<>|&;#~!") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
