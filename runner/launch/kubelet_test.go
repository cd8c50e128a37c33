package launch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"testing"
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

// kubelet plays the Job controller, the kubelet and the runner, which do not run here: it makes a Job's pod, writes
// what a runner would write, and sets the status of both. Real pods are in e2e/.
type kubelet struct {
	tb     testing.TB
	client kubernetes.Interface
	id     naming.Object
}

// end is how a Job shall end.
type end struct {
	message string // the termination message
	code    int32
	reason  string // of the container, such as OOMKilled
	// condition is the Job's reason for failing; empty for success.
	condition string
	noPod     bool // the pod is gone
	serial    int  // of the state that is written; 0 for none
	disrupted bool
}

var (
	succeeded = end{message: `{"version":1,"op":"apply","error":null}`, serial: 1}
	failed    = end{message: `{"version":1,"op":"apply","error":{"kind":"step","reason":"provider","step":"apply","tail":"no quota"}}`, code: 1, condition: batchv1.JobReasonPodFailurePolicy}
)

// run brings a Job from its creation to its end.
func (k kubelet) run(ctx context.Context, name string, e end) error {
	job, err := k.client.BatchV1().Jobs(k.id.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if _, err := k.client.CoreV1().Secrets(k.id.Namespace).Get(ctx, configName(name), metav1.GetOptions{}); err != nil {
		return fmt.Errorf("the pod of job %s cannot start: %w", name, err)
	}
	pod, err := k.startPod(ctx, job)
	if err != nil {
		return err
	}
	if e.serial > 0 {
		if err := k.writeState(ctx, e.serial); err != nil {
			return err
		}
	}
	if err := k.endPod(ctx, pod, e); err != nil {
		return err
	}
	return k.endJob(ctx, job, e)
}

func (k kubelet) startPod(ctx context.Context, job *batchv1.Job) (*corev1.Pod, error) {
	labels := map[string]string{batchv1.JobNameLabel: job.Name, batchv1.ControllerUidLabel: string(job.UID)}
	for key, value := range job.Spec.Template.Labels {
		labels[key] = value
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: job.Name + "-x1y2z", Labels: labels}, Spec: job.Spec.Template.Spec}
	pods := k.client.CoreV1().Pods(job.Namespace)
	made, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	made.Status.Phase = corev1.PodRunning
	return pods.UpdateStatus(ctx, made, metav1.UpdateOptions{})
}

func (k kubelet) endPod(ctx context.Context, pod *corev1.Pod, e end) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	if e.noPod {
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	}
	pod.Status.Phase = corev1.PodSucceeded
	if e.code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	if e.disrupted {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: runnerContainer, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: e.code, Message: e.message, Reason: e.reason},
	}}}
	_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func (k kubelet) endJob(ctx context.Context, job *batchv1.Job, e end) error {
	at := metav1.Now()
	condition := func(t batchv1.JobConditionType) batchv1.JobCondition {
		message := ""
		if e.condition == batchv1.JobReasonPodFailurePolicy {
			message = fmt.Sprintf("Container runner for pod %s/%s-x1y2z failed with exit code %d matching FailJob rule at index 0", job.Namespace, job.Name, e.code)
		}
		return batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: e.condition, Message: message, LastTransitionTime: at}
	}
	job.Status.StartTime = &at
	if e.condition == "" {
		job.Status.CompletionTime, job.Status.Succeeded = &at, 1
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet), condition(batchv1.JobComplete)}
	} else {
		job.Status.Failed = 1
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailureTarget), condition(batchv1.JobFailed)}
	}
	_, err := k.client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
	return err
}

// writeState writes the state as the backend does, under a lock that is free again.
func (k kubelet) writeState(ctx context.Context, serial int) error {
	var data bytes.Buffer
	z := gzip.NewWriter(&data)
	fmt.Fprintf(z, `{"version":4,"terraform_version":"1.9.0","serial":%d,"lineage":"l-1","outputs":{},"resources":[]}`, serial)
	if err := z.Close(); err != nil {
		return err
	}
	owned, err := naming.Labels(k.id)
	if err != nil {
		return err
	}
	suffix := naming.Suffix(k.id)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: naming.StateSecret(suffix, 0), Labels: naming.BackendSelector(suffix, owned)},
		Data:       map[string][]byte{"tfstate": data.Bytes()},
	}
	secrets := k.client.CoreV1().Secrets(k.id.Namespace)
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
	return k.lock(ctx, "", "")
}

// lock writes the lock Lease; an empty id frees it.
func (k kubelet) lock(ctx context.Context, id, who string) error {
	leases := k.client.CoordinationV1().Leases(k.id.Namespace)
	name := naming.LockLease(naming.Suffix(k.id))
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

// configMap writes the result as a runner does that is told to stop.
func (f *fixture) configMap(job, document string) {
	f.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: resultName(job)}, Data: map[string]string{resultKey: document}}
	if _, err := f.client.CoreV1().ConfigMaps(f.object.id.Namespace).Create(f.Context(), cm, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}
