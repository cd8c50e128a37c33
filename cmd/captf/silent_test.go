package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
)

// A cluster that does not answer is one finding, and is asked once: each further question may take a minute, too. A real
// API server answers so only while its etcd hangs, which others share.
func TestDoctorOfASilentCluster(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, test := range map[string]struct {
		answer *apierrors.StatusError
		want   []string
	}{
		"not in time": {apierrors.NewTimeoutError("no answer in the time allotted", 1), []string{"it does not answer: ", "-> kubectl --server=", " cluster-info"}},
		"overloaded":  {apierrors.NewServiceUnavailable("not now"), []string{"it does not answer: not now", " cluster-info"}},
		"retries":     {apierrors.NewServerTimeout(secrets, "list", 0), []string{"it does not answer: ", " cluster-info"}},
		"a stranger":  {apierrors.NewUnauthorized("Unauthorized"), []string{"it does not know you: Unauthorized", " auth whoami"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				status := test.answer.ErrStatus
				status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(int(status.Code))
				_ = json.NewEncoder(w).Encode(status)
			}))
			defer server.Close()
			e := program{}.run(t, "doctor", "tm/worker-0", "-n", "n", "--server", server.URL)
			e.want(t, 1, append(test.want, "!!   cluster ")...)
			if n := strings.Count(e.out, "!!"); n != 1 || asked.Load() != 1 {
				t.Errorf("%d findings after %d requests, want one of each\n%s", n, asked.Load(), e.out)
			}
			program{}.run(t, "lock", "show", "tm/worker-0", "-n", "n", "--server", server.URL).want(t, 1, "the cluster does not ")
		})
	}
}

// A certificate that nobody here trusts is no matter of one's login.
func TestDoctorOfAnUntrustedCluster(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	e := program{}.run(t, "doctor", "tm/worker-0", "-n", "n", "--server", server.URL)
	e.want(t, 1, "!!   cluster it does not answer: tls: failed to verify certificate", " cluster-info")
	if n := strings.Count(e.out, "!!"); n != 1 {
		t.Errorf("%d findings, want one\n%s", n, e.out)
	}
	program{}.run(t, "state", "ls", "-n", "n", "--server", server.URL).want(t, 1, "something answers that does not have the cluster's certificate")
}

// What nobody could read is no success.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	c.Put(t, statetest.Gzip([]byte(document(7))))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"doctor tm/worker-0", "state show tm/worker-0", "lock show tm/worker-0", "state pull tm/worker-0", "state ls", "version"} {
		cmd := exec.CommandContext(t.Context(), self, strings.Fields(command)...)
		cmd.Env = []string{asProgram + "=1", "HOME=" + t.TempDir(), "KUBECONFIG=" + operator(t, c).kubeconfig}
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = full, &said
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("%s: %v, and it says %q; want exit code 1 and the reason", command, err, said.String())
		}
	}
}
