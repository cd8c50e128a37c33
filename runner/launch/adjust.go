package launch

import (
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// adjust has the template's hook change the Job, and refuses what a pass goes by.
func (t Template) adjust(job *batchv1.Job) error {
	if t.Adjust == nil {
		return nil
	}
	before := job.DeepCopy()
	t.Adjust(job)
	was, is := fixed(before), fixed(job)
	for i := range was {
		if !equality.Semantic.DeepEqual(was[i].value, is[i].value) {
			return fmt.Errorf("job template: Adjust changed %s: leave it as it is", was[i].name)
		}
	}
	for _, meta := range []struct {
		name    string
		was, is map[string]string
	}{
		{"labels of the Job", before.Labels, job.Labels},
		{"annotations of the Job", before.Annotations, job.Annotations},
		{"labels of the pod", before.Spec.Template.Labels, job.Spec.Template.Labels},
	} {
		kept := maps.Clone(meta.is)
		maps.DeleteFunc(kept, func(key, _ string) bool { _, ours := meta.was[key]; return !ours })
		if !maps.Equal(kept, meta.was) {
			return fmt.Errorf("job template: Adjust changed %s: it may only add some", meta.name)
		}
	}
	return nil
}

type part struct {
	name  string
	value any
}

// fixed is what no hook may change, with the reasons: the Job is found by its name and owner, is one run of one pod,
// and stays until it is booked; deadline and grace are among the runner's arguments, and its last words are the
// result; the lock is known to be this pod's by the host's name.
func fixed(job *batchv1.Job) []part {
	spec, pod := *job.Spec.DeepCopy(), &job.Spec.Template.Spec
	spec.Template, spec.Suspend = corev1.PodTemplateSpec{}, nil // a queue may suspend it
	parts := []part{
		{"the Job's name, namespace or owners", []any{job.Name, job.GenerateName, job.Namespace, job.OwnerReferences}},
		{"the Job's spec besides suspend and the pod template", spec},
		{"the pod's restartPolicy", pod.RestartPolicy},
		{"the pod's terminationGracePeriodSeconds", pod.TerminationGracePeriodSeconds},
		{"the pod's host name", []any{pod.HostNetwork, pod.Hostname, pod.HostnameOverride, pod.SetHostnameAsFQDN}},
	}
	var runner corev1.Container
	for _, c := range pod.Containers {
		if c.Name == RunnerContainer {
			runner = c
		}
	}
	return append(parts,
		part{"command or arguments of container " + RunnerContainer, [][]string{runner.Command, runner.Args}},
		part{"the termination message of container " + RunnerContainer, []any{runner.TerminationMessagePath, runner.TerminationMessagePolicy}},
	)
}
