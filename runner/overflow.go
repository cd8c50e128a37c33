package runner

import (
	"context"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/result"
)

const (
	overflowTimeout = 3 * time.Second
	// maxOverflow is what a ConfigMap holds, less its metadata, in bytes.
	maxOverflow = 900 << 10
	// overflowKey is the ConfigMap's key.
	overflowKey = "result.json"
)

// overflow puts a result that does not fit into a termination message into the ConfigMap <job>-result, in
// full, and names it in the small one.
func (r *run) overflow() {
	c, ok := r.keeper.(*cluster)
	if !ok || r.opts.JobName == "" || len(result.EncodeMax(r.res, math.MaxInt)) <= result.MaxSize {
		return
	}
	cm := &kube.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: r.opts.JobName + "-result", OwnerReferences: r.owner()},
		Data:       map[string]string{overflowKey: string(result.EncodeMax(r.res, maxOverflow))},
	}
	ctx, cancel := context.WithTimeout(context.Background(), overflowTimeout)
	defer cancel()
	_, err := c.client.ConfigMaps(c.client.Namespace()).Create(ctx, cm, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		r.log.Warn("the full result could not be stored: the short one has to do", "configMap", cm.Name, "error", err)
		return
	}
	r.res.Document = cm.Name
}

// owner makes the ConfigMap go with its Job. The runner may not read Jobs, so the UID has to be told.
func (r *run) owner() []metav1.OwnerReference {
	if r.opts.JobUID == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: r.opts.JobName, UID: types.UID(r.opts.JobUID)}}
}
