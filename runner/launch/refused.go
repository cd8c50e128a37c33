package launch

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/lease"
)

// ownConfig makes the Job the one owner of its config Secret, which may hold credentials: whoever deletes the Job deletes
// them. When that fails, or a launcher dies before it, they are removed with the books.
func (p *pass) ownConfig(ctx context.Context, job *batchv1.Job) {
	owner := metav1.OwnerReference{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: job.Name, UID: job.UID}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{owner}}})
	if err == nil {
		_, err = p.Clients.Secrets.Patch(ctx, configName(job.Name), types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		p.log().Warn("the config secret has not got its job for an owner", "job", job.Name, "error", err)
	}
}

// refusedForGood reports whether the API server has answered that it did not do it: nothing of it can happen later.
func refusedForGood(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// takeBack leaves nothing of a Job that was refused: the next one need not wait for the leases, and the rendered root
// does not stay. What another launcher of the same Job has written since, or may count on, stays.
func (p *pass) takeBack(ctx context.Context, a lease.Admission) {
	given, err := p.gate().GiveBack(ctx, a)
	if s := p.written; err == nil && given && s != nil {
		err = p.Clients.Secrets.Delete(ctx, s.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion},
		})
	}
	if err != nil && !absent.Is(err) && !apierrors.IsConflict(err) {
		p.log().Warn("what was made for a job that was refused is still there", "object", p.id.String(), "error", err)
	}
}
