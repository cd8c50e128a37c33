// Package runtime drives the tofu or terraform binary: the environment, the argv, the process and
// the output of each command.
//
// [New] gives a [Runtime] for one initialised directory. Its methods are the commands of
// spec/runner.md, "Steps". Two kinds of code run them:
//
//   - force-unlock goes through terraform-exec, which does it well;
//   - init, plan, apply, destroy, state push, show and version run as a process of this package, because
//     they need what terraform-exec cannot do: -lock-timeout for init, a second SIGINT, a SIGKILL to
//     the whole process group, the child's resource usage, a child that is asked to end, not killed,
//     when the runner dies, for show a document that is not held in memory while the child runs, and for
//     version, which may be asked of any program, a bound on what it prints.
//
// Both kinds get the same environment, see [Environ].
package runtime
