// Package runtime drives the tofu or terraform binary: the environment, the argv, the process and
// the output of each command.
//
// [New] gives a [Runtime] for one initialised directory. Its methods are the commands of
// spec/runner.md, "Steps". Two kinds of code run them:
//
//   - version and force-unlock go through terraform-exec, which does them well;
//   - init, plan, apply, destroy, state push and show run as a [Process] of this package, because
//     they need what terraform-exec cannot do: -lock-timeout for init, a second SIGINT, a SIGKILL to
//     the whole process group, the child's resource usage, a child that is asked to end, not killed,
//     when the runner dies, and for show a document that is not held in memory while the child runs.
//
// Both kinds get the same environment, see [Environ].
package runtime
