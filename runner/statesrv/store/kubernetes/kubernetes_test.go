package kubernetes

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// rules are all that a server needs.
var rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "update", "delete"}}}

// place is a fresh namespace of a real API server, and who may use it.
func place(t *testing.T) (open func() store.Store) {
	t.Helper()
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	kubeconfig := server.Kubeconfig(t, namespace, rules)
	return func() store.Store { return openAt(t, "kubernetes://"+namespace+"/team", kubeconfig) }
}

func openAt(t testing.TB, address, kubeconfig string) *Store {
	t.Helper()
	opts, err := Parse(address, func(name string) string { return map[string]string{"KUBECONFIG": kubeconfig}[name] })
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, place) }

// Two prefixes in one namespace are two stores.
func TestPrefixes(t *testing.T) {
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	kubeconfig := server.Kubeconfig(t, namespace, rules)
	for _, prefix := range []string{"", "/a", "/b"} {
		s := openAt(t, "kubernetes://"+namespace+prefix, kubeconfig)
		if _, err := s.Create(t.Context(), "k/head.json", []byte(prefix)); err != nil {
			t.Errorf("prefix %q: %v", prefix, err)
		}
		for name, err := range s.List(t.Context(), "") {
			if name != "k" || err != nil {
				t.Errorf("prefix %q lists %q, %v", prefix, name, err)
			}
		}
		if rec, err := s.Get(t.Context(), "k/head.json"); string(rec.Data) != prefix || err != nil {
			t.Errorf("prefix %q has %q, %v", prefix, rec.Data, err)
		}
	}
}

// secretsOf returns the names of the Secrets of a store's namespace.
func secretsOf(t *testing.T, s *Store) []string {
	t.Helper()
	list, err := kubetest.Shared(t).Clientset().CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, secret := range list.Items {
		if size := secret.Size(); size > 1<<20 {
			t.Errorf("Secret %s has %d bytes", secret.Name, size)
		}
		names = append(names, secret.Name)
	}
	return names
}

// A value that does not fit into one Secret is in several, which go with it.
func TestParts(t *testing.T) {
	s := place(t)().(*Store)
	noise := func(n int) []byte {
		data := make([]byte, n)
		_, _ = rand.Read(data)
		return data
	}
	first, second, zeros := noise(2*partSize), noise(partSize+1), bytes.Repeat([]byte{'0'}, 8<<20)
	check := func(what string, secrets int, want []byte) {
		t.Helper()
		if got := secretsOf(t, s); len(got) != secrets {
			t.Errorf("%s: Secrets are %q, want %d", what, got, secrets)
		}
		if rec, err := s.Get(t.Context(), "k"); want != nil && (err != nil || !bytes.Equal(rec.Data, want)) {
			t.Errorf("%s: %d bytes, %v; want %d", what, len(rec.Data), err, len(want))
		}
	}
	rev, err := s.Create(t.Context(), "k", first)
	if err != nil {
		t.Fatal(err)
	}
	check("created", 4, first)
	if _, err := s.Create(t.Context(), "k", second); !errors.Is(err, store.ErrExists) {
		t.Errorf("second create: %v", err)
	}
	check("after a create that was refused", 4, first)
	next, err := s.Swap(t.Context(), "k", rev, second)
	if err != nil {
		t.Fatal(err)
	}
	check("swapped", 3, second)
	if _, err := s.Swap(t.Context(), "k", rev, first); !errors.Is(err, store.ErrConflict) {
		t.Errorf("stale swap: %v", err)
	}
	check("after a swap that was refused", 3, second)
	if _, err := s.Swap(t.Context(), "k", next, zeros); err != nil {
		t.Fatal(err)
	}
	check("compressed", 1, zeros)
	if _, err := s.Create(t.Context(), "other", first); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	check("removed", 4, nil)
	if err := s.Remove(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	check("all removed", 0, nil)
}

// What the log costs: few Secrets for many lines.
func TestLogIsCompact(t *testing.T) {
	s := place(t)().(*Store)
	line := bytes.Repeat([]byte{'x'}, 2000)
	for range 70 {
		if err := s.Append(t.Context(), "s/events.jsonl", line); err != nil {
			t.Fatal(err)
		}
	}
	if got := secretsOf(t, s); len(got) != 3 {
		t.Errorf("140000 bytes of lines are in %q, want 3 Secrets", got)
	}
	other := place(t)().(*Store)
	other.secrets, other.namespace = s.secrets, s.namespace
	if last, err := other.Last(t.Context(), "s/events.jsonl", 40); err != nil || len(last) != 40 {
		t.Errorf("the last 40 lines are %d, %v", len(last), err)
	}
	for _, cursor := range []store.Cursor{"x", "1", "0-0", "1--5", "1-99999999"} {
		for _, err := range s.Lines(t.Context(), "s/events.jsonl", cursor) {
			if !errors.Is(err, store.ErrCursor) {
				t.Errorf("cursor %q: %v, want %v", cursor, err, store.ErrCursor)
			}
		}
	}
}

// What a person has to see to is said.
func TestAccess(t *testing.T) {
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	reader := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	s := openAt(t, "kubernetes://"+namespace, server.Kubeconfig(t, namespace, reader))
	_, err := s.Create(t.Context(), "k", []byte("v"))
	if err == nil || !strings.Contains(err.Error(), "needs get, list, create, update and delete") || errors.Is(err, store.ErrUnknown) {
		t.Errorf("create without the right: %v", err)
	}
	if err := store.Prove(t.Context(), s); err == nil || errors.Is(err, store.ErrUnproven) {
		t.Errorf("proof without the right: %v, want a fault", err)
	}
	config := server.Kubeconfig(t, namespace, reader)
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	bad := regexp.MustCompile(`(token: *)\S+`).ReplaceAll(good, []byte("${1}expired"))
	if err := os.WriteFile(config, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = openAt(t, "kubernetes://"+namespace, config).Get(t.Context(), "k")
	if err == nil || !strings.Contains(err.Error(), "does not accept the credentials") {
		t.Errorf("with an expired token: %v", err)
	}
}

// A kubeconfig that is not there is told by the variable that names it.
func TestNoKubeconfig(t *testing.T) {
	opts, err := Parse("kubernetes://n", func(name string) string {
		return map[string]string{"KUBECONFIG": "/nowhere/config"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(opts); err == nil || !strings.Contains(err.Error(), "KUBECONFIG names it") ||
		strings.Contains(err.Error(), "config_path") {
		t.Errorf("open: %v", err)
	}
}

func TestParse(t *testing.T) {
	for _, address := range []string{"kubernetes://", "kubernetes://A", "kubernetes://a_b", "kubernetes://u:p@ns", "kubernetes://ns?x=y",
		"kubernetes://ns/a//b", "kubernetes://ns/a b", "kubernetes://-ns", "s3://ns"} {
		if opts, err := Parse(address, os.Getenv); err == nil {
			t.Errorf("%s: %+v, want an error", address, opts)
		}
	}
	for name, env := range map[string]map[string]string{
		"kubeconfig a":              {"KUBECONFIG": "a", "KUBERNETES_SERVICE_HOST": "h"},
		"in-cluster configuration":  {"KUBERNETES_SERVICE_HOST": "h"},
		"kubeconfig ~/.kube/config": {},
	} {
		opts, err := Parse("kubernetes://ns/p", func(name string) string { return env[name] })
		if err != nil || opts.Namespace != "ns" || opts.Prefix != "p" || fmt.Sprint(opts.Cluster) != name || opts.Cluster.UserAgent != "statesrv" {
			t.Errorf("%v gives %+v, %v; want %s", env, opts, err, name)
		}
	}
}

// Names of Secrets are valid, and no two keys have one.
func TestNames(t *testing.T) {
	s := &Store{prefix: "p"}
	seen := map[string]string{}
	for _, key := range []string{"a", "A", "a.b", "a-b", "a_b", "a/b", "a%2Fb", "%", strings.Repeat("Ab/", 7) + "x", strings.Repeat("-", 240),
		strings.Repeat("z", 240)} {
		name := s.nameOf(key)
		if before, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", before, key, name)
		}
		seen[name] = key
		if len(partName(name, rand.Text(), 9999)) > 253 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Contains(name, "--"+s.digest("key", key)) {
			t.Errorf("%q is %s", key, name)
		}
	}
}

// A value is streamed: its parts are fetched while it is read, not before.
func TestOpenStreams(t *testing.T) {
	server := kubetest.Shared(t)
	l, cluster := newLossy(t, server)
	s, err := Open(Options{Namespace: server.Namespace(t), Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 5*partSize+1)
	_, _ = rand.Read(want)
	if _, err := s.Create(t.Context(), "k", want); err != nil {
		t.Fatal(err)
	}
	l.read.Store(0)
	body, err := s.Open(t.Context(), "k")
	if err != nil || body.Size != int64(len(want)) {
		t.Fatalf("open: %d bytes, %v", body.Size, err)
	}
	var got []byte
	for _, gets := range []int64{3, 4, 5, 6, 7} { // the record, the list of its parts and the first one, and so on
		if n := l.read.Load(); n > gets {
			t.Errorf("with %d bytes read there were %d GETs, want at most %d", len(got), n, gets)
		}
		next := make([]byte, partSize)
		if _, err := io.ReadFull(body, next); err != nil {
			t.Fatal(err)
		}
		got = append(got, next...)
	}
	rest, err := io.ReadAll(body)
	if err != nil || !bytes.Equal(append(got, rest...), want) {
		t.Errorf("streamed %d bytes, %v; want the %d that were stored", len(got)+len(rest), err, len(want))
	}
	if err := s.Remove(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
}

// A stream whose record is removed under it ends with an error, never as if it was whole.
func TestOpenOfWhatIsRemoved(t *testing.T) {
	s := place(t)().(*Store)
	value := make([]byte, 4*partSize)
	_, _ = rand.Read(value)
	if _, err := s.Create(t.Context(), "k", value); err != nil {
		t.Fatal(err)
	}
	body, err := s.Open(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(body); err == nil {
		t.Errorf("%d bytes and no error", len(data))
	}
}
