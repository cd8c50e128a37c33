package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// backend is where a scenario keeps its state, with a way to look at it that does not go through the
// program under test.
type backend interface {
	// flags tell the runner where it is.
	flags() []string
	// state is the stored document, nil when there is none.
	state(t *testing.T) []byte
	// holder is the ID of the lock that is held, empty when it is free.
	holder(t *testing.T) string
	// hold takes the lock as another run would that has this ID and is who; release gives it back.
	hold(t *testing.T, id, who string)
	release(t *testing.T, id string)
}

// backends are the three that every scenario runs on.
var backends = map[string]func(t *testing.T, f *fixture) backend{
	"http":       newHTTP,
	"kubernetes": func(t *testing.T, f *fixture) backend { return newKubernetes(t, f) },
	"local":      newLocal,
}

// lockBody is the record that a run writes about itself when it takes the lock.
func lockBody(id, who string) string {
	body, err := json.Marshal(map[string]string{
		"ID": id, "Operation": "OperationTypeApply", "Info": "", "Who": who, "Version": "1.5.7", "Created": "2026-01-02T03:04:05.678Z", "Path": "",
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// served is a backend whose states are a state server's.
type served struct {
	name  string
	args  []string
	using func(t *testing.T, do func(*statesrv.States))
}

// newHTTP starts a state server in the test, as a team would run one. It is no statesrv to the runner, which
// cannot look at its lock and has to go by what the runtimes print. The runner gets its password by the environment.
func newHTTP(t *testing.T, f *fixture) backend {
	return serve(t, f, withoutLook)
}

// asked is a statesrv: the runner asks it who holds the lock, and has it release one.
type asked struct{ *served }

func newStatesrv(t *testing.T, f *fixture) backend {
	return asked{serve(t, f, func(h http.Handler) http.Handler { return h })}
}

func serve(t *testing.T, f *fixture, wrap func(http.Handler) http.Handler) *served {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{RequireLock: true})
	const password = "correct-horse-battery"
	server := httptest.NewServer(wrap(statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: statesrv.NewOneUser("runner", password)})))
	t.Cleanup(server.Close)
	url := server.URL + "/states/scenario"
	f.env = append(f.env, "CAPTF_BACKEND_CONFIG=address="+url+"\nlock_address="+url+"\nunlock_address="+url+"\nusername=runner\npassword="+password)
	return &served{name: "scenario", using: func(_ *testing.T, do func(*statesrv.States)) { do(states) }}
}

// withoutLook takes away what only a statesrv has.
func withoutLook(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/lock") {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// newLocal looks at what --local keeps, by opening the same directory.
func newLocal(_ *testing.T, f *fixture) backend {
	using := func(t *testing.T, do func(*statesrv.States)) {
		st, err := dir.Open(t.Context(), filepath.Join(f.dir, ".captf", "state"), dir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		do(statesrv.NewStates(st, statesrv.Rules{}))
	}
	return &served{name: "config", args: []string{"--local"}, using: using}
}

func (s *served) flags() []string { return s.args }

func (s *served) state(t *testing.T) (state []byte) {
	s.using(t, func(states *statesrv.States) {
		content, err := states.Read(t.Context(), s.name)
		if err != nil {
			return // there is none
		}
		defer content.Close()
		if state, err = io.ReadAll(content); err != nil {
			t.Fatal(err)
		}
	})
	return state
}

func (s *served) holder(t *testing.T) (id string) {
	s.using(t, func(states *statesrv.States) {
		held, err := states.Holder(t.Context(), s.name)
		if err != nil {
			t.Fatal(err)
		}
		if held != nil {
			id = held.Info.ID
		}
	})
	return id
}

func (s *served) hold(t *testing.T, id, who string) {
	s.using(t, func(states *statesrv.States) {
		if _, err := states.Lock(t.Context(), s.name, []byte(lockBody(id, who)), statesrv.Caller{}); err != nil {
			t.Fatal(err)
		}
	})
}

func (s *served) release(t *testing.T, id string) {
	s.using(t, func(states *statesrv.States) {
		if _, err := states.ForceUnlock(context.WithoutCancel(t.Context()), s.name, statesrv.ForceUnlockRequest{ID: id}); err != nil {
			t.Error(err)
		}
	})
}

// kubernetes is a namespace of the real API server, used with the Job's own ServiceAccount.
type kubernetes struct {
	server     *kubetest.Server
	object     naming.Object
	suffix     string
	kubeconfig string
}

func newKubernetes(t *testing.T, _ *fixture) *kubernetes {
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	sum := sha256.Sum256([]byte(t.Name()))
	object := naming.Object{Kind: naming.Cluster, Namespace: namespace, Name: "c-" + hex.EncodeToString(sum[:4]), Cluster: "c"}
	return &kubernetes{
		server: server, object: object, suffix: naming.Suffix(object),
		kubeconfig: server.Kubeconfig(t, namespace, server.RunnerRules()),
	}
}

func (k *kubernetes) flags() []string {
	return k.flagsFor(k.kubeconfig)
}

// flagsFor are the flags that a controller would give, with a kubeconfig in place of the pod's own access.
func (k *kubernetes) flagsFor(kubeconfig string) []string {
	settings, err := naming.BackendConfig(k.object)
	if err != nil {
		panic(err)
	}
	flags := []string{"--backend-config", "config_path=" + kubeconfig}
	for _, setting := range settings {
		if setting != "in_cluster_config=true" {
			flags = append(flags, "--backend-config", setting)
		}
	}
	return flags
}

func (k *kubernetes) state(t *testing.T) []byte {
	secret, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Get(t.Context(), naming.StateSecret(k.suffix, 0), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
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

func (k *kubernetes) lease(t *testing.T) *coordinationv1.Lease {
	lease, err := k.server.Clientset().CoordinationV1().Leases(k.object.Namespace).Get(t.Context(), naming.LockLease(k.suffix), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func (k *kubernetes) holder(t *testing.T) string { return lock.FromLease(k.lease(t)).Holder }

func (k *kubernetes) hold(t *testing.T, id, who string) {
	leases := k.server.Clientset().CoordinationV1().Leases(k.object.Namespace)
	lease, fresh := k.lease(t), false
	if lease == nil {
		lease, fresh = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: naming.LockLease(k.suffix)}}, true
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[lock.InfoAnnotation] = lockBody(id, who)
	lease.Spec.HolderIdentity = &id
	var err error
	if fresh {
		_, err = leases.Create(t.Context(), lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (k *kubernetes) release(t *testing.T, id string) {
	leases := k.server.Clientset().CoordinationV1().Leases(k.object.Namespace)
	if _, err := lock.Release(context.WithoutCancel(t.Context()), leases, naming.LockLease(k.suffix), id); err != nil {
		t.Error(err)
	}
}

// document is what a test looks at of a state.
type document struct {
	Serial    uint64 `json:"serial"`
	Lineage   string `json:"lineage"`
	Resources []struct {
		Mode, Type, Name string
		Instances        []json.RawMessage
	} `json:"resources"`
}

func parseState(t *testing.T, state []byte) document {
	t.Helper()
	var d document
	if state == nil {
		return d
	}
	if err := json.Unmarshal(state, &d); err != nil {
		t.Fatalf("stored state: %v", err)
	}
	return d
}

// addresses are the managed resources of the state. Terraform also notes those that it was about to make.
func (d document) addresses() []string {
	var all []string
	for _, r := range d.Resources {
		if r.Mode == "managed" && len(r.Instances) > 0 {
			all = append(all, r.Type+"."+r.Name)
		}
	}
	return all
}
