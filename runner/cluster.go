package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// cluster is the lockKeeper of the kubernetes backend: the runner's own client, with the rights that the
// backend has.
type cluster struct {
	client *kube.Client
	suffix string
	labels map[string]string
}

// newCluster connects as the backend would. Without a connection a run still works, by the runtime's texts.
func newCluster(b backend, log *slog.Logger) (*cluster, error) {
	if b.kind != "kubernetes" || b.suffix() == "" {
		return nil, nil
	}
	config, err := b.kubeConfig()
	if err != nil {
		return nil, err
	}
	labels, err := b.labels()
	if err != nil {
		return nil, err
	}
	client, err := kube.New(config)
	var missing *kube.MissingFileError
	if errors.As(err, &missing) && filepath.IsAbs(missing.Path) { // else it may be a file of the root
		return nil, usagef("--backend-config: %w: the runtime would look for the state on localhost; name a kubeconfig that is there", err)
	}
	if err != nil {
		log.Warn("no connection of the runner's own to the API server: the lock is judged by what the runtime prints", "error", err)
		return nil, nil
	}
	return &cluster{client: client, suffix: b.suffix(), labels: labels}, nil
}

func (c *cluster) lease() string { return naming.LockLease(c.suffix) }

func (c *cluster) Holder(ctx context.Context) (*lock.Info, error) {
	lease, err := c.client.Leases(c.client.Namespace()).Get(ctx, c.lease(), metav1.GetOptions{})
	if absent.Is(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", c.lease(), err)
	}
	l := lock.FromLease(lease)
	if !l.Held() {
		return nil, nil
	}
	info := l.Info
	info.ID = l.Holder
	return &info, nil
}

func (c *cluster) WaitFree(ctx context.Context) (lock.Wait, error) {
	return lock.WaitFree(ctx, c.client.Leases(c.client.Namespace()), c.lease(), lock.Poll{})
}

func (c *cluster) HasState(ctx context.Context) (bool, error) {
	secret, err := c.client.Secrets(c.client.Namespace()).Get(ctx, naming.StateSecret(c.suffix, 0), metav1.GetOptions{})
	if absent.Is(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// A run that is killed between the two requests that write the first state leaves an empty Secret.
	return len(secret.Data["tfstate"]) > 0, nil
}

func (c *cluster) Release(ctx context.Context, id string) (lock.Unlock, error) {
	return lock.Release(ctx, c.client.Leases(c.client.Namespace()), c.lease(), id)
}
