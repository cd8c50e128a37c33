// Package runtime drives the tofu or terraform binary: the environment, the argv, the process and
// the output of each command.
//
// [New] gives a [Runtime] for one initialised directory. Its methods are the commands of
// spec/runner.md, "Steps". Two kinds of code run them:
//
//   - version, show and force-unlock go through terraform-exec, which does them well;
//   - init, plan, apply, destroy and state push run as a [Process] of this package, because they
//     need what terraform-exec cannot do: -lock-timeout for init, a second SIGINT, a SIGKILL to
//     the whole process group, the child's resource usage, and a child that is asked to end, not
//     killed, when the runner dies.
//
// Both kinds get the same environment, see [Environ].
package runtime
