package launch

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// The defaults of a Template.
const (
	DefaultLockTimeout    = 300 * time.Second
	DefaultDeadline       = 3600 * time.Second
	DefaultGrace          = 600 * time.Second
	DefaultServiceAccount = "captf-runner"
	// DefaultUser is the user and the group of a Job's processes.
	DefaultUser = 65532
	// DefaultPlanKey is the Secret with the key of plan hashes.
	DefaultPlanKey = "captf-plan-key"

	// maxLockTimeout is the limit of lockTimeoutSeconds.
	maxLockTimeout = time.Hour
	// stopMargin is what the runner leaves of the pod's grace period: the time for the kubelet to read
	// the result.
	stopMargin = 30 * time.Second
)

// Template is how the Jobs of an object look. Zero values are replaced by the defaults, see [Template.Defaulted].
type Template struct {
	// Image is the module image's reference.
	Image string
	// RunnerImage is the image whose entrypoint is captf-runner: it is copied into every pod.
	RunnerImage string
	// PullPolicy is that of both images; empty for Kubernetes' own choice.
	PullPolicy corev1.PullPolicy
	// PullSecrets are names of Secrets for the registry.
	PullSecrets []string
	// ServiceAccount needs the rights of spec/state-and-locks.md, "Launching", and no more.
	ServiceAccount string
	// Runtime is "tofu" or "terraform", whichever the image holds; empty when that is not known. A state in
	// several chunks is not handed to OpenTofu, which cannot read it.
	Runtime string

	// LockTimeout is lockTimeoutSeconds: all that a run may wait for the lock. nil is the default, 0 does
	// not wait.
	LockTimeout *time.Duration
	// Deadline is activeDeadlineSeconds.
	Deadline time.Duration
	// Grace is the pod's grace period. The runner has stopped 30 seconds before it ends.
	Grace time.Duration

	// PlanKey is the Secret whose key "key" is the key of plan hashes.
	PlanKey string
	// Resources are those of the runner's container.
	Resources corev1.ResourceRequirements
	// Env is added to the runner's container. What starts with TF_ or KUBE_ is dropped by the runner.
	Env []corev1.EnvVar
	// EnvFrom is added to the runner's container: a Secret with a provider's credentials.
	EnvFrom []corev1.EnvFromSource
	// VarFiles are names of files of the rendered root that are variables besides terraform.tfvars.json.
	VarFiles []string
	// Adjust changes the finished Job, for what is not named here: tolerations, a node selector, a sidecar, volumes,
	// more labels. [NewJob] refuses a Job of which it changed what a pass goes by: its name and owners, the labels
	// and annotations that were there, the Job's spec besides suspend and the pod template, and in the pod
	// restartPolicy, grace period, whatever names its host, and the runner's command, arguments and termination
	// message.
	Adjust func(*batchv1.Job)
}

// Defaulted returns t with its defaults filled in.
func (t Template) Defaulted() Template {
	if t.LockTimeout == nil {
		t.LockTimeout = new(DefaultLockTimeout)
	}
	if t.Deadline == 0 {
		t.Deadline = DefaultDeadline
	}
	if t.Grace == 0 {
		t.Grace = DefaultGrace
	}
	if t.ServiceAccount == "" {
		t.ServiceAccount = DefaultServiceAccount
	}
	if t.PlanKey == "" {
		t.PlanKey = DefaultPlanKey
	}
	return t
}

// Validate reports what no Job can be built from. A lock timeout that is not below the deadline is named with both
// values.
func (t Template) Validate() error {
	t = t.Defaulted()
	switch lock := *t.LockTimeout; {
	case t.Image == "":
		return fmt.Errorf("job template: image is missing: name the module image")
	case t.RunnerImage == "":
		return fmt.Errorf("job template: runner image is missing: name the image that holds captf-runner")
	case lock < 0 || lock > maxLockTimeout:
		return fmt.Errorf("job template: lockTimeoutSeconds %d is not between 0 and %d", seconds(lock), seconds(maxLockTimeout))
	case t.Deadline < time.Second:
		return fmt.Errorf("job template: activeDeadlineSeconds %d is not positive", seconds(t.Deadline))
	case lock >= t.Deadline:
		return fmt.Errorf("job template: lockTimeoutSeconds %d is not below activeDeadlineSeconds %d: a Job could wait for the lock until it is killed",
			seconds(lock), seconds(t.Deadline))
	case t.Grace <= stopMargin:
		return fmt.Errorf("job template: the grace period of %d seconds is not above %d: the runner needs time to save the state",
			seconds(t.Grace), seconds(stopMargin))
	case t.Runtime != "" && t.Runtime != RuntimeTofu && t.Runtime != RuntimeTerraform:
		return fmt.Errorf("job template: runtime %q is unknown: use %s or %s", t.Runtime, RuntimeTofu, RuntimeTerraform)
	}
	return nil
}

// What Template.Runtime may be.
const (
	RuntimeTofu      = "tofu"
	RuntimeTerraform = "terraform"
)

func seconds(d time.Duration) int64 { return int64(d.Round(time.Second) / time.Second) }
