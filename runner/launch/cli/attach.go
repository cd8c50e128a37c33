package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
)

func (e Env) newAttach() *cobra.Command {
	output := ""
	c := &cobra.Command{
		Use:   "attach JOB",
		Short: "Follow a Job that was started before, and close its books",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the name of one Job, and got %d arguments", len(args))
			}
			return nil
		},
		RunE: e.command(func(ctx context.Context, e Env, job string) error { return e.attach(ctx, job, output) }),
	}
	c.Flags().StringVarP(&output, "output", "o", "", "json prints the outcome for a program; for people when it is empty")
	return c
}

func (e Env) attach(ctx context.Context, name, output string) error {
	if output != "" && output != outputJSON {
		return usagef("-o %q: want json", output)
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "job.batch/"), "job/") // as kubectl prints it
	if strings.Contains(name, "/") {
		return usagef("%q is no name of a Job: %s doctor KIND/NAME lists the Jobs of an object", name, e.Name())
	}
	client, namespace, err := e.Connect()
	if err != nil {
		return err
	}
	job, err := client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("attach to job %s: %w", name, err)
	}
	id, err := ownerOf(job)
	if err != nil {
		return err
	}
	o := &object{id: id}
	if parsed, _ := naming.ParseJob(id, name); parsed.Op == naming.Destroy && len(job.OwnerReferences) == 0 {
		o.desired = launch.Desired{Op: naming.Destroy, Once: true, Tick: job.Annotations[launch.AnnotationTick]}
	}
	f := e.follower(client, &launch.Launcher{Clients: launch.NewClients(client, namespace)}, o)
	f.json, f.job, f.attached = output == outputJSON, name, true
	f.mine = func(r launch.Run) bool { return r.Name == name }
	return f.run(ctx)
}

// ownerOf reads the object from the Job's labels. A name that is too long for one is in an annotation.
func ownerOf(job *batchv1.Job) (naming.Object, error) {
	id := naming.Object{
		Kind: naming.Kind(job.Labels[naming.LabelOwnerKind]), Namespace: job.Namespace,
		Name: cmp.Or(job.Annotations[launch.AnnotationOwnerName], job.Labels[naming.LabelOwnerName]), Cluster: job.Labels[naming.LabelCluster],
	}
	if _, ok := naming.ParseJob(id, job.Name); !ok {
		return id, fmt.Errorf("job %s: its labels do not name the object that it belongs to", job.Name)
	}
	return id, nil
}
