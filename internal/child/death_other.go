//go:build !linux

package child

import "os/exec"

// dieWithParent does nothing where the kernel has no death signal: only the tests' cleanup ends the child.
func dieWithParent(*exec.Cmd) {}
