package launch

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// Variables of the runner's container that the downward API fills in.
const (
	envJobUID    = "CAPTF_JOB_UID" // the runner's --job-uid
	envNamespace = "KUBE_NAMESPACE"
	envPod       = "POD_NAME"
)

func (o Order) pod(args []string) corev1.PodSpec {
	t := o.Template
	spec := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(seconds(t.Grace)),
		ServiceAccountName:            t.ServiceAccount,
		EnableServiceLinks:            new(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(DefaultUser)), RunAsGroup: new(int64(DefaultUser)), FSGroup: new(int64(DefaultUser)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Volumes: o.volumes(),
		InitContainers: []corev1.Container{{
			Name: "copy", Image: t.RunnerImage, ImagePullPolicy: t.PullPolicy, Args: []string{"copy", runnerPath},
			SecurityContext: restricted(), VolumeMounts: []corev1.VolumeMount{{Name: "bin", MountPath: naming.BinPath}},
		}},
		Containers: []corev1.Container{o.container(args)},
	}
	for _, name := range t.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return spec
}

func (o Order) container(args []string) corev1.Container {
	t := o.Template
	mounts := []corev1.VolumeMount{
		{Name: "bin", MountPath: naming.BinPath, ReadOnly: true},
		{Name: "work", MountPath: naming.WorkPath},
		{Name: "config", MountPath: naming.ConfigPath, ReadOnly: true},
	}
	if o.needsPlanKey() {
		mounts = append(mounts, corev1.VolumeMount{Name: "key", MountPath: naming.KeyPath, ReadOnly: true})
	}
	return corev1.Container{
		Name: RunnerContainer, Image: t.Image, ImagePullPolicy: t.PullPolicy,
		Command: []string{runnerPath}, Args: args,
		Env: append([]corev1.EnvVar{
			fromField(envJobUID, "metadata.labels['batch.kubernetes.io/controller-uid']"),
			fromField(envNamespace, "metadata.namespace"),
			fromField(envPod, "metadata.name"),
		}, t.Env...),
		EnvFrom: t.EnvFrom, Resources: t.Resources, VolumeMounts: mounts, SecurityContext: restricted(),
		// Anything else that the container prints must never pass for a result.
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

// restricted is what the Pod Security Standard of that name asks of a container, and a read-only root.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func (o Order) volumes() []corev1.Volume {
	empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	volumes := []corev1.Volume{{Name: "bin", VolumeSource: empty}, {Name: "work", VolumeSource: empty}, {Name: "config", VolumeSource: o.config()}}
	if o.needsPlanKey() {
		key := corev1.SecretVolumeSource{
			SecretName: o.Template.PlanKey, DefaultMode: new(int32(0o440)), Items: []corev1.KeyToPath{{Key: keyFile, Path: keyFile}},
		}
		volumes = append(volumes, corev1.Volume{Name: "key", VolumeSource: corev1.VolumeSource{Secret: &key}})
	}
	return volumes
}

// config shows the rendered root, and the chunks of a backup in their folder: these are not copied, since together they
// may be larger than a Secret.
func (o Order) config() corev1.VolumeSource {
	sources := []corev1.VolumeProjection{secretFile(configName(o.Name))}
	if o.Desired.Op == naming.Restore {
		for i, name := range o.Chunks {
			sources = append(sources, secretFile(name, corev1.KeyToPath{Key: "tfstate", Path: "restore/" + strconv.Itoa(i)}))
		}
	}
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: new(int32(0o440))}}
}

func secretFile(name string, items ...corev1.KeyToPath) corev1.VolumeProjection {
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items}}
}
