package kubetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/captf/captf-runner/internal/child"
	"github.com/captf/captf-runner/internal/tools"
)

// A start takes seconds on an idle machine; the limit is for one that also builds.
const (
	startTimeout = 2 * time.Minute
	ruleTimeout  = 30 * time.Second
	poll         = 20 * time.Millisecond
)

// Server is a kube-apiserver with RBAC on, and its etcd. Its methods may be called by several tests at
// once, except StopAPI and StartAPI.
type Server struct {
	programs programs
	dir      string
	pki      *pki
	client   *kubernetes.Clientset
	port     int    // of the API server
	etcdURL  string // for clients
	etcd     *child.Process
	api      *child.Process
}

// programs are the absolute paths of the binaries.
type programs struct{ etcd, api string }

func findPrograms(tb testing.TB) programs {
	tb.Helper()
	return programs{etcd: tools.Bin(tb, "etcd"), api: tools.Bin(tb, "kube-apiserver")}
}

// Start starts a server for one test, and stops it when the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s, err := start(findPrograms(tb))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.stop)
	return s
}

func start(p programs) (*Server, error) {
	dir, err := tools.TempDir("kubetest")
	if err != nil {
		return nil, err
	}
	s := &Server{programs: p, dir: dir}
	if err := s.boot(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) boot() (err error) {
	if s.pki, err = newPKI(); err != nil {
		return fmt.Errorf("make the server's certificates: %w", err)
	}
	if err := s.pki.write(s.dir); err != nil {
		return err
	}
	if s.port, err = freePort(); err != nil {
		return err
	}
	if s.client, err = kubernetes.NewForConfig(s.Config()); err != nil {
		return err
	}
	if err := s.startEtcd(); err != nil {
		return err
	}
	return s.StartAPI()
}

// stop kills what runs and removes the data.
func (s *Server) stop() {
	s.StopAPI()
	if s.etcd != nil {
		s.etcd.Kill()
	}
	_ = os.RemoveAll(s.dir)
}

// Config returns a new client configuration for a cluster admin, without a rate limit.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host:            s.url(),
		TLSClientConfig: rest.TLSClientConfig{CAData: s.pki.ca, CertData: s.pki.admin, KeyData: s.pki.adminKey},
		QPS:             -1,
	}
}

// Clientset returns a client for a cluster admin.
func (s *Server) Clientset() *kubernetes.Clientset { return s.client }

func (s *Server) url() string { return "https://" + loopback(s.port) }

func (s *Server) startEtcd() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	peerPort, err := freePort()
	if err != nil {
		return err
	}
	s.etcdURL = "http://" + loopback(port)
	peerURL := "http://" + loopback(peerPort)
	s.etcd, err = spawn(s.dir, s.programs.etcd,
		"--name=e0", "--data-dir="+filepath.Join(s.dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+s.etcdURL, "--advertise-client-urls="+s.etcdURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=e0="+peerURL)
	return err
}

// StartAPI starts the API server after a StopAPI, on the same port and data, and returns when it is
// ready. A test of a shared server has to call it before it ends.
func (s *Server) StartAPI() error {
	file := func(name string) string { return filepath.Join(s.dir, name) }
	api, err := spawn(s.dir, s.programs.api,
		"--etcd-servers="+s.etcdURL, "--cert-dir="+s.dir,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", s.port),
		// Without a reconciler a loopback address may be advertised.
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file="+file("serving.crt"), "--tls-private-key-file="+file("serving.key"),
		"--client-ca-file="+file("ca.crt"), "--authorization-mode=RBAC",
		"--service-account-issuer="+s.url(), "--service-account-key-file="+file("token.pub"),
		"--service-account-signing-key-file="+file("token.key"),
		"--service-cluster-ip-range=10.96.0.0/24", "--allow-privileged=true",
		// It wants the default ServiceAccount that a controller would make.
		"--disable-admission-plugins=ServiceAccount")
	if err != nil {
		return err
	}
	s.api = api
	return s.awaitReady()
}

// StopAPI kills the API server, as an outage does: connections are reset, and new ones refused.
func (s *Server) StopAPI() {
	if s.api != nil {
		s.api.Kill()
	}
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		for _, p := range []*child.Process{s.etcd, s.api} {
			if err := p.Died(); err != nil {
				return false, err
			}
		}
		err := s.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		return err == nil, nil
	})
	if ctx.Err() != nil {
		return fmt.Errorf("kube-apiserver is not ready after %s\n%s\n%s", startTimeout, s.api.Tail(), s.etcd.Tail())
	}
	return err
}
