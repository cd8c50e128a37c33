package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// resultKey is the key of the ConfigMap <job>-result.
const resultKey = "result.json"

// errMoved says that another launcher is at work on the same Job.
var errMoved = errors.New("the job was changed by another")

// record writes the outcome on the Job, before anything is done about it: its pod, and with it the result, may go at
// any moment, and two launchers must act on the same outcome. One that is there stays.
func (p *pass) record(ctx context.Context, r *Run) error {
	if r.Outcome != nil {
		return nil
	}
	if err := p.Clients.readConfigMap(ctx, r); err != nil {
		return err
	}
	outcome := Conclude(r.evidence)
	var err error
	if outcome.Untouched, err = p.untouched(ctx, r); err != nil {
		return err
	}
	text, err := outcome.encode()
	if err != nil {
		return fmt.Errorf("encode the outcome: %w", err)
	}
	if err := p.annotate(ctx, r, AnnotationOutcome, text); err != nil {
		return err
	}
	r.Outcome = &outcome
	return nil
}

// readConfigMap looks for the result of a pod that is gone: a runner that is told to stop leaves it there, too.
func (c Clients) readConfigMap(ctx context.Context, r *Run) error {
	if len(r.evidence.Document) > 0 {
		return nil
	}
	cm, err := c.ConfigMaps.Get(ctx, resultName(r.Name), metav1.GetOptions{})
	switch {
	case absent.Is(err):
		return c.readChanges(ctx, r)
	case err != nil:
		return fmt.Errorf("get configmap %s: %w", resultName(r.Name), err)
	}
	r.evidence.Document, r.evidence.Source = []byte(cm.Data[resultKey]), SourceConfigMap
	return nil
}

// readChanges looks for what a run was going to change whose result went with its pod.
func (c Clients) readChanges(ctx context.Context, r *Run) error {
	if r.evidence.PodThere || r.evidence.Complete {
		return nil
	}
	cm, err := c.ConfigMaps.Get(ctx, changesName(r.Name), metav1.GetOptions{})
	switch {
	case absent.Is(err):
		return nil
	case err != nil:
		return fmt.Errorf("get configmap %s: %w", changesName(r.Name), err)
	}
	r.evidence.Changes = cm.Name
	return nil
}

// untouched compares the lock Lease with what it was when the Job was created.
func (p *pass) untouched(ctx context.Context, r *Run) (bool, error) {
	name := naming.LockLease(naming.Suffix(p.id))
	held, err := p.Clients.Leases.Get(ctx, name, metav1.GetOptions{})
	if absent.Is(err) {
		held, err = nil, nil
	}
	if err != nil {
		return false, fmt.Errorf("get lease %s: %w", name, err)
	}
	return lock.FromLease(held).Version() == r.LockVersion, nil
}

// annotate writes a mark on exactly the version of the Job that was read.
func (p *pass) annotate(ctx context.Context, r *Run, key, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": r.ResourceVersion, "annotations": map[string]string{key: value},
	}})
	if err != nil {
		return err
	}
	job, err := p.Clients.Jobs.Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err) || absent.Is(err):
		return errMoved
	case err != nil:
		return fmt.Errorf("annotate job %s with %s: %w", r.Name, key, err)
	}
	r.ResourceVersion = job.ResourceVersion
	return nil
}
