package cli

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state/backup"
)

// clusterOf is what the state's own label says, when no flag does: an object's labels never change.
func clusterOf(ctx context.Context, client kubernetes.Interface, id naming.Object, flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	name := naming.StateSecret(naming.Suffix(id), 0)
	base, err := client.CoreV1().Secrets(id.Namespace).Get(ctx, name, metav1.GetOptions{})
	if absent.Is(err) {
		return clusterWithoutState(ctx, client, id)
	}
	if err != nil {
		return "", fmt.Errorf("look for the state of %s: %w", id, err)
	}
	cluster, there := base.Labels[naming.LabelCluster]
	if !there {
		return "", fmt.Errorf("secret %s has lost its label %s, which names the cluster of %s: give --cluster-name, or set it again, empty if there is none", name, naming.LabelCluster, id)
	}
	return cluster, nil
}

// clusterWithoutState is what the newest Job says, or else the newest copy that names one: a state that is made anew
// has to have the labels of the one that was lost.
func clusterWithoutState(ctx context.Context, client kubernetes.Interface, id naming.Object) (string, error) {
	if err := id.Validate(); err != nil {
		return "", usagef("%w", err)
	}
	if name, named, err := launch.NewClients(client, id.Namespace).Cluster(ctx, id); named || err != nil {
		return name, err
	}
	copies, err := backup.Store{Secrets: client.CoreV1().Secrets(id.Namespace)}.List(ctx, id)
	if err != nil {
		return "", err
	}
	for _, c := range copies {
		if c.Cluster != "" {
			return c.Cluster, nil
		}
	}
	if id.Kind == naming.Cluster {
		return id.Name, nil
	}
	return "", nil
}
