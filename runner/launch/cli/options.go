package cli

import (
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
)

const outputJSON = "json"

// planHash is the form of plan.Hash.
var planHash = regexp.MustCompile(`^p2:[0-9a-f]{64}$`)

// imageName is an image reference. One that is none would keep the pod waiting until the Job's deadline.
var imageName = regexp.MustCompile(`^([A-Za-z0-9.-]+(:[0-9]+)?/|\[[0-9a-fA-F:]+\](:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*` +
	`(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@[A-Za-z0-9]+:[0-9a-fA-F]{32,})?$`)

// options are the flags of one operation.
type options struct {
	op naming.Op

	cluster        string
	image          string
	runnerImage    string
	pullPolicy     string
	pullSecrets    []string
	serviceAccount string
	runtime        string
	memory, cpu    string
	envFrom        []string

	dir      string
	module   string
	outputs  []string
	varFiles []string

	lockTimeout time.Duration
	deadline    time.Duration
	grace       time.Duration
	waitForLock bool

	approve      string
	guardDeletes bool
	backup       string
	lineage      string

	detach bool
	dryRun bool
	output string
}

func (o *options) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.image, "image", "", "the module `image` (required)")
	f.StringVar(&o.runnerImage, "runner-image", "", "the `image` whose entrypoint is captf-runner; the module image when it is empty")
	f.StringVarP(&o.dir, "file", "f", "", "the `directory` of the rendered root: its files go into a Secret that lives as long as the Job runs")
	f.StringVar(&o.module, "module", "", "the `path` of the module in the image, for a root that only calls it (default /captf/module without -f)")
	f.StringArrayVar(&o.outputs, "output-name", nil, "with --module: a `name` of an output of the module to keep; repeat it")
	f.StringArrayVar(&o.varFiles, "var-file", nil, "a `file` with variables, HCL or JSON; repeat it")
	f.StringVar(&o.cluster, "cluster-name", "", "the object's Cluster API `cluster`; that of its state, newest Job or newest copy, else the name of a TerraformCluster")
	f.StringVar(&o.serviceAccount, "service-account", launch.DefaultServiceAccount, "the Job's ServiceAccount")
	f.StringVar(&o.pullPolicy, "image-pull-policy", "", "Always, IfNotPresent or Never")
	f.StringArrayVar(&o.pullSecrets, "image-pull-secret", nil, "the `name` of a Secret for the registry; repeat it")
	f.StringVar(&o.runtime, "runtime", "", "tofu or terraform, whichever the image holds; a state in several Secrets is not handed to tofu")
	f.StringArrayVar(&o.envFrom, "env-from-secret", nil, "the `name` of a Secret with variables for the providers; repeat it")
	f.StringVar(&o.memory, "memory", "", "the memory limit, such as 1Gi")
	f.StringVar(&o.cpu, "cpu", "", "the CPU request, such as 500m")
	f.DurationVar(&o.lockTimeout, "lock-timeout", launch.DefaultLockTimeout, "how long the Job waits for the lock")
	f.DurationVar(&o.deadline, "deadline", launch.DefaultDeadline, "how long the Job may take")
	f.DurationVar(&o.grace, "grace", launch.DefaultGrace, "how long a Job that is told to stop may take to save its state")
	f.BoolVar(&o.waitForLock, "wait-for-lock", false, "start no Job while somebody else holds the lock, but wait for them")
	f.BoolVar(&o.detach, "detach", false, "return when the Job exists: attach follows it later")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the Job as YAML (JSON with -o json), and change nothing")
	f.StringVarP(&o.output, "output", "o", "", "json prints the outcome, or with --dry-run the Job, for a program; for people when it is empty")
	switch o.op {
	case naming.Apply:
		f.StringVar(&o.approve, "approve", "", "apply only the plan with this `hash`, which launch plan printed")
		f.BoolVar(&o.guardDeletes, "guard-deletes", false, "apply nothing that deletes or replaces a resource")
	case naming.Restore:
		f.StringVar(&o.backup, "backup", "", "the `name` of the first Secret of the backup or rescue set (required)")
		f.StringVar(&o.lineage, "lineage", "", "the backup's `lineage`, to replace a state of another one")
	}
}

func (o *options) validate() error {
	switch {
	case o.image == "":
		return usagef("--image is missing: name the module image")
	case !imageName.MatchString(o.image):
		return usagef("--image %q is no image reference", o.image)
	case o.runnerImage != "" && !imageName.MatchString(o.runnerImage):
		return usagef("--runner-image %q is no image reference", o.runnerImage)
	case o.dir != "" && o.module != "":
		return usagef("-f and --module exclude each other: a rendered root says itself which module it calls")
	case len(o.outputs) > 0 && o.dir != "":
		return usagef("--output-name is for --module: a rendered root declares its own outputs")
	case o.op == naming.Restore && o.backup == "":
		return usagef("--backup is missing: captf state backups KIND/NAME lists the backups and rescue sets")
	case o.approve != "" && !planHash.MatchString(o.approve):
		return usagef("--approve %q: want the hash that launch plan printed, p2: and 64 hex digits", o.approve)
	case o.output != "" && o.output != outputJSON:
		return usagef("-o %q: want json", o.output)
	case o.module != "" && !path.IsAbs(o.module):
		return usagef("--module %q: want a path in the image from its root, such as %s", o.module, naming.ModulePath)
	case o.deadline <= 0 || o.grace <= 0:
		return usagef("--deadline %s, --grace %s: want more than 0", o.deadline, o.grace)
	case o.lockTimeout >= o.deadline:
		return usagef("--lock-timeout %s is not below --deadline %s: the Job could wait for the lock until it is killed", o.lockTimeout, o.deadline)
	case !slices.Contains([]string{"", "Always", "IfNotPresent", "Never"}, o.pullPolicy):
		return usagef("--image-pull-policy %q: want Always, IfNotPresent or Never", o.pullPolicy)
	}
	template, err := o.template()
	if err != nil {
		return err
	}
	if err := template.Validate(); err != nil {
		return usagef("%w", err)
	}
	return nil
}

func (o *options) template() (launch.Template, error) {
	t := launch.Template{
		Image: o.image, RunnerImage: o.runnerImage, PullPolicy: corev1.PullPolicy(o.pullPolicy), PullSecrets: o.pullSecrets,
		ServiceAccount: o.serviceAccount, Runtime: o.runtime, LockTimeout: &o.lockTimeout, Deadline: o.deadline, Grace: o.grace,
	}
	if t.RunnerImage == "" {
		t.RunnerImage = o.image
	}
	for _, name := range o.envFrom {
		t.EnvFrom = append(t.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
	}
	var err error
	if t.Resources.Limits, err = quantity(corev1.ResourceMemory, "--memory", o.memory); err != nil {
		return t, err
	}
	t.Resources.Requests, err = quantity(corev1.ResourceCPU, "--cpu", o.cpu)
	return t, err
}

func quantity(name corev1.ResourceName, flag, text string) (corev1.ResourceList, error) {
	if text == "" {
		return nil, nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return nil, usagef("%s %q: %w", flag, text, err)
	}
	return corev1.ResourceList{name: q}, nil
}
