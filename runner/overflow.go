package runner

import (
	"context"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/result"
)

const (
	// maxOverflow is what a ConfigMap holds, less its metadata, in bytes.
	maxOverflow = 900 << 10
	// overflowKey is the ConfigMap's key.
	overflowKey = "result.json"
)

// overflow puts a result into the ConfigMap <job>-result, in full, names it in the small one, and reports whether it
// did. It does so with one that does not fit into a termination message, and with that of a run that was told to stop:
// whoever tells a pod to stop most often deletes it, and its termination message with it. Without the Job's UID nothing
// would ever remove the ConfigMap, so there is none.
func (r *run) overflow() bool {
	c, ok := r.keeper.(*cluster)
	full := r.cleaned()
	if !ok || r.opts.JobName == "" || r.opts.JobUID == "" {
		return false
	}
	if r.stop.Cause() == nil && len(result.EncodeMax(full, math.MaxInt)) <= result.MaxSize {
		return false
	}
	cm := &kube.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: r.opts.JobName + "-result", OwnerReferences: r.owner()},
		Data:       map[string]string{overflowKey: string(result.EncodeMax(full, maxOverflow))},
	}
	ctx, cancel := r.look(context.Background())
	defer cancel()
	// One that is there is an earlier pod's, and may not be changed.
	if _, err := c.client.ConfigMaps(c.client.Namespace()).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		r.log.Warn("the full result could not be stored: the short one has to do", "configMap", cm.Name, "error", err)
		return false
	}
	r.res.Document = cm.Name
	return true
}

// owner makes the ConfigMap go with its Job. The runner may not read Jobs, so the UID has to be told.
func (r *run) owner() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: r.opts.JobName, UID: types.UID(r.opts.JobUID)}}
}
