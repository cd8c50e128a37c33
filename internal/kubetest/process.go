package kubetest

import (
	"os/exec"
	"path/filepath"

	"github.com/captf/captf-runner/internal/child"
)

// spawn starts a program in a directory, with its output in NAME.log there. It does not inherit the environment: etcd
// takes settings from it.
func spawn(dir, program string, args ...string) (*child.Process, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
	return child.Start(cmd, filepath.Join(dir, filepath.Base(program)+".log"))
}
