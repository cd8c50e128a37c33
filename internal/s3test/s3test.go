// Package s3test runs a real S3 gateway for tests. Start with [Start].
package s3test

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/captf/captf-runner/internal/child"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/tools"
)

// The credentials of its only user.
const (
	AccessKey = "test-access"
	SecretKey = "test-secret-not-to-be-logged"
)

// The limit is for a machine that also builds.
const (
	startTimeout = time.Minute
	poll         = 10 * time.Millisecond
)

// Start starts a gateway whose buckets are the folders of a directory, and returns its URL once it answers. Several may
// serve one directory. It ends with the test.
func Start(tb testing.TB, dir string) (url string) {
	tb.Helper()
	address := kubetest.FreeAddress(tb)
	cmd := exec.Command(tools.Bin(tb, "versitygw"), "--port", address, "--quiet", "--keep-alive", "posix", dir)
	cmd.Env = []string{"ROOT_ACCESS_KEY=" + AccessKey, "ROOT_SECRET_KEY=" + SecretKey, "HOME=" + tb.TempDir()}
	gateway, err := child.Start(cmd, filepath.Join(tb.TempDir(), "gateway.log"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(gateway.Kill)
	err = wait.PollUntilContextTimeout(tb.Context(), poll, startTimeout, true, func(context.Context) (bool, error) {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false, gateway.Died()
		}
		return true, conn.Close()
	})
	if err != nil {
		tb.Fatalf("wait for the gateway: %v\n%s", err, gateway.Tail())
	}
	return "http://" + address
}
