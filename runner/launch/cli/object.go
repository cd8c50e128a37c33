package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
)

// object is the object of a command line. No API server knows it, so it owns nothing, and events are about its Jobs.
type object struct {
	id       naming.Object
	cluster  string // as the command line says
	desired  launch.Desired
	template launch.Template
	files    map[string][]byte
}

func (o *object) Identity() naming.Object           { return o.id }
func (o *object) Reference() corev1.ObjectReference { return corev1.ObjectReference{} }
func (o *object) Desired() launch.Desired           { return o.desired }
func (o *object) Template() launch.Template         { return o.template }
func (o *object) Files(context.Context) (map[string][]byte, error) {
	return o.files, nil
}

// object puts together what flags and files say.
func (e Env) object(ctx context.Context, client kubernetes.Interface, namespace string, o *options, arg string) (*object, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	id, err := e.identity(namespace, arg)
	if err != nil {
		return nil, err
	}
	if id.Cluster, err = clusterOf(ctx, client, id, o.cluster); err != nil {
		return nil, err
	}
	if err := id.Validate(); err != nil {
		return nil, usagef("%w", err)
	}
	found := &object{id: id, cluster: o.cluster}
	if found.template, err = o.template(); err != nil {
		return nil, err
	}
	if found.files, found.template.VarFiles, err = o.files(); err != nil {
		return nil, err
	}
	found.desired = launch.Desired{
		Op: o.op, Once: true,
		// Each command line is a run of its own.
		Tick:     time.Now().UTC().Format(time.RFC3339Nano),
		Approval: launch.Approval{GuardDeletes: o.guardDeletes, ExpectPlan: o.approve},
		Restore:  launch.Restore{Set: o.backup, Lineage: o.lineage},
	}
	return found, nil
}

// checkSecrets looks for what the pod is to get, without which it would not start and the Job wait for its deadline.
func (o *options) checkSecrets(ctx context.Context, client kubernetes.Interface, namespace string) error {
	for flag, names := range map[string][]string{"--env-from-secret": o.envFrom, "--image-pull-secret": o.pullSecrets} {
		for _, name := range names {
			if _, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
				return fmt.Errorf("%s: %w", flag, err)
			}
		}
	}
	return nil
}

// identity reads KIND/NAME.
func (e Env) identity(namespace, arg string) (naming.Object, error) {
	kind, name, ok := strings.Cut(arg, "/")
	if !ok {
		return naming.Object{}, usagef("%q is not KIND/NAME, such as tc/%s", arg, arg)
	}
	k, ok := e.Kind(kind)
	if !ok {
		return naming.Object{}, usagef("kind %q is unknown: use TerraformCluster (tc), TerraformMachine (tm) or TerraformMachinePool (tmp)", kind)
	}
	return naming.Object{Kind: k, Namespace: namespace, Name: name}, nil
}
