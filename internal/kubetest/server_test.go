package kubetest

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// TestOutage has a server of its own, and looks for what is left when it has stopped.
func TestOutage(t *testing.T) {
	var pids []int
	var dir string
	t.Run("server", func(t *testing.T) {
		s := Start(t)
		dir = s.dir
		pids = append(pids, s.etcd.Cmd.Process.Pid, s.api.Cmd.Process.Pid)
		outage(t, s)
		pids = append(pids, s.api.Cmd.Process.Pid)
	})
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d still runs", pid)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func outage(t *testing.T, s *Server) {
	secrets := s.Clientset().CoreV1().Secrets(s.Namespace(t))
	want := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string][]byte{"key": []byte("value")}}
	want, err := secrets.Create(t.Context(), want, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.StopAPI()
	if _, err := secrets.Get(t.Context(), want.Name, metav1.GetOptions{}); !utilnet.IsConnectionRefused(err) {
		t.Errorf("a get during the outage: %v; want a refused connection", err)
	}
	if err := s.StartAPI(); err != nil {
		t.Fatal(err)
	}
	got, err := secrets.Get(t.Context(), want.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the Secret after the outage (-before +after):\n%s", diff)
	}
}
