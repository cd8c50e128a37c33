package torture

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// kubeStore is a state in a namespace of the real API server, used with the Job's own ServiceAccount.
type kubeStore struct {
	server     *kubetest.Server
	object     naming.Object
	suffix     string
	kubeconfig string
}

func openKube(t *testing.T, name string) (*kubeStore, *proxy) {
	t.Helper()
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	object := naming.Object{Kind: naming.Cluster, Namespace: namespace, Name: name, Cluster: "c"}
	p := newProxy(t, server.Forward(t), true)
	own := server.Kubeconfig(t, namespace, server.RunnerRules())
	return &kubeStore{server: server, object: object, suffix: naming.Suffix(object), kubeconfig: kubetest.Redirect(t, own, p.url(), p.certificate)}, p
}

func (s *kubeStore) settings(string) []string {
	settings, err := naming.BackendConfig(s.object)
	if err != nil {
		panic(err)
	}
	flags := []string{"--backend-config", "config_path=" + s.kubeconfig}
	for _, setting := range settings {
		if setting != "in_cluster_config=true" {
			flags = append(flags, "--backend-config", setting)
		}
	}
	return flags
}

func (s *kubeStore) request(m moment) match {
	switch m {
	case atInit:
		// The lock is taken, and there is no state: the most that an init can leave.
		return func(r *http.Request, _ []byte) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/secrets")
		}
	case atStateWrite: // the runtime's: the runner writes into the Secret too, when it fences it
		return func(r *http.Request, _ []byte) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/secrets/") && r.UserAgent() != "captf-runner"
		}
	}
	return releases
}

// releases matches the update that gives the lock back. OpenTofu writes Leases as protobuf.
func releases(r *http.Request, body []byte) bool {
	if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/leases/") {
		return false
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	lease, ok := object.(*coordinationv1.Lease)
	return err == nil && ok && !lock.FromLease(lease).Held()
}

func (s *kubeStore) state(t *testing.T) []byte {
	t.Helper()
	return s.stateIn(t, naming.StateSecret(s.suffix, 0))
}

// rescued reads a set of one Secret: the states of the tests are small.
func (s *kubeStore) rescued(t *testing.T, where string) []byte {
	t.Helper()
	return s.stateIn(t, where[strings.LastIndex(where, "/")+1:])
}

// stateIn is the state in a Secret, nil when there is none.
func (s *kubeStore) stateIn(t *testing.T, name string) []byte {
	t.Helper()
	secret, err := s.server.Clientset().CoreV1().Secrets(s.object.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && len(secret.Data["tfstate"]) == 0 {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(secret.Data["tfstate"]))
	if err != nil {
		t.Fatal(err)
	}
	state, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func (s *kubeStore) held(t *testing.T) lock.Lock {
	t.Helper()
	lease, err := s.server.Clientset().CoordinationV1().Leases(s.object.Namespace).Get(t.Context(), naming.LockLease(s.suffix), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return lock.Lock{}
	}
	if err != nil {
		t.Fatal(err)
	}
	return lock.FromLease(lease)
}

func (s *kubeStore) hold(t *testing.T, id string) {
	t.Helper()
	leases := s.server.Clientset().CoordinationV1().Leases(s.object.Namespace)
	lease, err := leases.Get(t.Context(), naming.LockLease(s.suffix), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[lock.InfoAnnotation] = lockInfo(id)
	lease.Spec.HolderIdentity = &id
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
