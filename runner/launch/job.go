package launch

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// What is in the container, besides the places of the image contract.
const (
	RunnerContainer = "runner" // the name of the container that runs captf-runner
	runnerPath      = naming.BinPath + "/captf-runner"
	keyFile         = "key"
)

// Order is one Job that shall be.
type Order struct {
	Object    naming.Object
	Reference corev1.ObjectReference
	Desired   Desired
	Template  Template
	// Name is the Job's, from naming.JobName.
	Name string
	// ForceUnlock is the ID of a stale lock to hand down, empty for none.
	ForceUnlock string
	// LockVersion is lock.Lock.Version at the time of the order.
	LockVersion string
	// StateVersion is chunks.Set.Version at that time.
	StateVersion string
	// Chunks are the Secrets of what is restored, in order, and Resources the number of managed resources in them.
	Chunks    []string
	Resources int
}

// NewJob builds the Job of an order. The error is that of [Template.Validate] or naming.Object.Validate, or names
// what the operation lacks.
func NewJob(o Order) (*batchv1.Job, error) {
	o.Template = o.Template.Defaulted()
	job, err := o.job()
	if err == nil {
		err = o.Template.adjust(job)
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", o.Name, err)
	}
	return job, nil
}

func (o Order) job() (*batchv1.Job, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	owned, err := labels(o.Object)
	if err != nil {
		return nil, err
	}
	owned[LabelOp] = string(o.Desired.Op)
	args, err := o.args()
	if err != nil {
		return nil, err
	}
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name: o.Name, Namespace: o.Object.Namespace, Labels: owned,
			Annotations: o.annotations(), OwnerReferences: o.owners(),
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(0)),
			ActiveDeadlineSeconds: new(seconds(o.Template.Deadline)),
			PodFailurePolicy:      podFailurePolicy(),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(owned)}, // Adjust may add some to the pod
				Spec:       o.pod(args),
			},
		},
	}, nil
}

func (o Order) validate() error {
	if err := o.Template.Validate(); err != nil {
		return err
	}
	if o.Desired.Op == naming.Restore && len(o.Chunks) == 0 {
		return fmt.Errorf("restore has no backup")
	}
	if _, ok := naming.ParseJob(o.Object, o.Name); !ok {
		return fmt.Errorf("it is not the name of a Job of %s", o.Object)
	}
	return nil
}

func (o Order) annotations() map[string]string {
	all := map[string]string{AnnotationLockVersion: o.LockVersion}
	longName := ""
	if label, err := naming.LabelValue(o.Object.Name); err == nil && label != o.Object.Name {
		longName = o.Object.Name
	}
	for key, value := range map[string]string{
		AnnotationOwnerName:    longName,
		AnnotationInputsHash:   o.Desired.InputsHash,
		AnnotationTick:         o.Desired.Tick,
		AnnotationApproval:     o.Desired.Approval.mark(),
		AnnotationForceUnlock:  o.ForceUnlock,
		AnnotationStateVersion: o.StateVersion,
	} {
		if value != "" {
			all[key] = value
		}
	}
	return all
}

// mark is the approval as a Job remembers it; empty when there is none.
func (a Approval) mark() string {
	if a == (Approval{}) {
		return ""
	}
	text, _ := json.Marshal(a) // strings and a bool
	return string(text)
}

func (o Order) owners() []metav1.OwnerReference {
	ref := o.Reference
	if ref.UID == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID, Controller: new(true)}}
}

// podFailurePolicy makes the Job's own condition say what the pod, which may be gone by then, would have said:
// a code of the runner counts before the disruption that may have caused it, since a provider's error during a drain
// is a failure all the same.
func podFailurePolicy() *batchv1.PodFailurePolicy {
	code := func(codes ...int32) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: new(RunnerContainer), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes,
			},
		}
	}
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		code(result.ExitFailed, result.ExitUsage, result.ExitPerson),
		code(result.ExitRetry),
		{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
			},
		},
	}}
}

// args are those of `captf-runner run`. Kubernetes expands $(NAME) in them, so what is not ours to expand is escaped.
func (o Order) args() ([]string, error) {
	backend, err := naming.BackendConfig(o.Object)
	if err != nil {
		return nil, err
	}
	t, d := o.Template, o.Desired
	args := []string{"run", "--op=" + string(d.Op)}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, "--"+flag+"="+strings.ReplaceAll(value, "$(", "$$("))
		}
	}
	for _, setting := range backend {
		add("backend-config", setting)
	}
	add("lock-timeout", fmt.Sprintf("%ds", seconds(*t.LockTimeout)))
	add("deadline", fmt.Sprintf("%ds", seconds(t.Deadline)))
	add("stop-timeout", fmt.Sprintf("%ds", seconds(t.Grace-stopMargin)))
	add("force-unlock", o.ForceUnlock)
	add("inputs-hash", d.InputsHash)
	add("image", t.Image)
	add("job-name", o.Name)
	for _, file := range t.VarFiles {
		add("var-file", naming.ConfigPath+"/"+file)
	}
	args = append(args, o.eventObject())
	return append(args, o.opArgs()...), nil
}

func (o Order) opArgs() []string {
	var args []string
	switch d := o.Desired; {
	case d.Op == naming.Restore:
		args = append(args, fmt.Sprintf("--restore-chunks=%d", len(o.Chunks)), fmt.Sprintf("--restore-resources=%d", o.Resources))
	case d.Op == naming.Apply && d.Approval.GuardDeletes:
		args = append(args, "--guard-deletes", "--allow-deletes-hash="+d.Approval.AllowDeletesHash)
	}
	if o.Desired.Op == naming.Apply && o.Desired.Approval.ExpectPlan != "" {
		args = append(args, "--expect-plan="+o.Desired.Approval.ExpectPlan)
	}
	if o.needsPlanKey() {
		args = append(args, "--plan-key-file="+naming.KeyPath+"/"+keyFile)
	}
	return args
}

// needsPlanKey is true for a run that makes or compares a plan hash.
func (o Order) needsPlanKey() bool {
	return o.Desired.Op == naming.Plan || o.Desired.Op == naming.Apply && o.Desired.Approval.ExpectPlan != ""
}

// eventObject has the runner's events be about the object, or about the Job when there is none.
func (o Order) eventObject() string {
	ref := o.Reference
	if ref.UID == "" {
		return "--event-object=batch/v1/Job/" + o.Object.Namespace + "/" + o.Name + "/$(" + envJobUID + ")"
	}
	return fmt.Sprintf("--event-object=%s/%s/%s/%s/%s", ref.APIVersion, ref.Kind, o.Object.Namespace, ref.Name, ref.UID)
}
