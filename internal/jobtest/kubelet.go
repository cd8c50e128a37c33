// Package jobtest plays the Job controller, the kubelet and the runner for tests on an API server without them: it makes
// a Job's pod, writes what a runner would write, and sets the status of both. Real pods are in e2e/.
package jobtest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// Kubelet plays for the Jobs of one object.
type Kubelet struct {
	Client kubernetes.Interface
	Object naming.Object
	// Node is that of the pods; empty for none.
	Node string
}

// End is how a Job shall end.
type End struct {
	Message string // the termination message
	Code    int32
	Reason  string // of the container, such as OOMKilled
	// Condition is the Job's reason for failing; empty for success.
	Condition string
	NoPod     bool   // the pod is gone
	Serial    int    // of the state that is written; 0 for none
	Outputs   string // of that state, JSON
	Disrupted bool
}

// The two usual ends.
var (
	Succeeded = End{Message: `{"version":1,"op":"apply","error":null}`, Serial: 1}
	Failed    = End{Message: `{"version":1,"op":"apply","error":{"kind":"step","reason":"provider","step":"apply","tail":"no quota"}}`, Code: 1, Condition: batchv1.JobReasonPodFailurePolicy}
)

// Run brings a Job from its creation to its end.
func (k Kubelet) Run(ctx context.Context, name string, e End) error {
	job, err := k.Client.BatchV1().Jobs(k.Object.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if _, err := k.Client.CoreV1().Secrets(k.Object.Namespace).Get(ctx, name+"-config", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("the pod of job %s cannot start: %w", name, err)
	}
	pod, err := k.startPod(ctx, job)
	if err != nil {
		return err
	}
	if e.Serial > 0 {
		if err := k.WriteState(ctx, e.Serial, e.Outputs); err != nil {
			return err
		}
	}
	if err := k.endPod(ctx, pod, e); err != nil {
		return err
	}
	return k.endJob(ctx, job, e)
}

func (k Kubelet) startPod(ctx context.Context, job *batchv1.Job) (*corev1.Pod, error) {
	labels := map[string]string{batchv1.JobNameLabel: job.Name, batchv1.ControllerUidLabel: string(job.UID)}
	for key, value := range job.Spec.Template.Labels {
		labels[key] = value
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: job.Name + "-x1y2z", Labels: labels}, Spec: job.Spec.Template.Spec}
	pod.Spec.NodeName = k.Node
	pods := k.Client.CoreV1().Pods(job.Namespace)
	made, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	made.Status.Phase = corev1.PodRunning
	return pods.UpdateStatus(ctx, made, metav1.UpdateOptions{})
}

func (k Kubelet) endPod(ctx context.Context, pod *corev1.Pod, e End) error {
	pods := k.Client.CoreV1().Pods(pod.Namespace)
	if e.NoPod {
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	}
	pod.Status.Phase = corev1.PodSucceeded
	if e.Code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	if e.Disrupted {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "runner", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: e.Code, Message: e.Message, Reason: e.Reason},
	}}}
	_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func (k Kubelet) endJob(ctx context.Context, job *batchv1.Job, e End) error {
	at := metav1.Now()
	condition := func(t batchv1.JobConditionType) batchv1.JobCondition {
		message := ""
		if e.Condition == batchv1.JobReasonPodFailurePolicy {
			message = fmt.Sprintf("Container runner for pod %s/%s-x1y2z failed with exit code %d matching FailJob rule at index 0", job.Namespace, job.Name, e.Code)
		}
		return batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: e.Condition, Message: message, LastTransitionTime: at}
	}
	job.Status.StartTime = &at
	if e.Condition == "" {
		job.Status.CompletionTime, job.Status.Succeeded = &at, 1
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet), condition(batchv1.JobComplete)}
	} else {
		job.Status.Failed = 1
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailureTarget), condition(batchv1.JobFailed)}
	}
	_, err := k.Client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
	return err
}

// WriteState writes the state as the backend does, under a lock that is free again.
func (k Kubelet) WriteState(ctx context.Context, serial int, outputs string) error {
	var data bytes.Buffer
	z := gzip.NewWriter(&data)
	fmt.Fprintf(z, `{"version":4,"terraform_version":"1.9.0","serial":%d,"lineage":"l-1","outputs":%s,"resources":[]}`, serial, cmp.Or(outputs, "{}"))
	if err := z.Close(); err != nil {
		return err
	}
	owned, err := naming.Labels(k.Object)
	if err != nil {
		return err
	}
	suffix := naming.Suffix(k.Object)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: naming.StateSecret(suffix, 0), Labels: naming.BackendSelector(suffix, owned)},
		Data:       map[string][]byte{"tfstate": data.Bytes()},
	}
	secrets := k.Client.CoreV1().Secrets(k.Object.Namespace)
	_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		old, errGet := secrets.Get(ctx, secret.Name, metav1.GetOptions{})
		if errGet != nil {
			return errGet
		}
		old.Data = secret.Data
		_, err = secrets.Update(ctx, old, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	return k.Lock(ctx, "", "")
}

// Lock writes the lock Lease; an empty id frees it.
func (k Kubelet) Lock(ctx context.Context, id, who string) error {
	leases := k.Client.CoordinationV1().Leases(k.Object.Namespace)
	name := naming.LockLease(naming.Suffix(k.Object))
	l, err := leases.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		l, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	l.Annotations, l.Spec.HolderIdentity = map[string]string{"touched": time.Now().String()}, nil
	if id != "" {
		l.Spec.HolderIdentity = &id
		l.Annotations[lock.InfoAnnotation] = fmt.Sprintf(`{"ID":%q,"Operation":"OperationTypeApply","Who":%q,"Created":"2026-11-30T08:00:00Z"}`, id, who)
	}
	_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
	return err
}
