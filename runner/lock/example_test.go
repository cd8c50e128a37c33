package lock_test

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// A Job's pod was killed in the middle of an apply, and its lock stayed. Check reads the lock and then the pod.
func ExampleCheck() {
	ctx := context.Background()
	machine := naming.Object{Kind: naming.Machine, Namespace: "infra", Name: "worker", Cluster: "prod"}
	client := fake.NewClientset(leftLock(machine)) // a controller has kubernetes.NewForConfig

	suffix := naming.Suffix(machine)
	found, err := lock.Check(ctx,
		client.CoordinationV1().Leases(machine.Namespace),             // live, never a cache
		naming.LockLease(suffix),                                      // the Lease that the backend locks the state with
		func(pod string) bool { return naming.OwnsPod(machine, pod) }, // is it a pod of one of the object's own Jobs?
		launch.NewClients(client, machine.Namespace).Phase,            // reads one pod, live
	)
	if err != nil {
		fmt.Println(err) // nothing is known: try again, and start no Job
		return
	}
	switch found.Verdict {
	case lock.Stale:
		fmt.Println("the next Job gets --force-unlock", found.Lock.ID())
	case lock.Foreign:
		fmt.Println("leave it alone:", found.Lock.Info)
	case lock.Alive, lock.Free:
		fmt.Println(found.Verdict)
	}
	// Output:
	// the next Job gets --force-unlock 1dc81f46-c73c-e80d-8b5a-47eff734d8f9
}

// leftLock is the lock Lease of a run whose pod does not exist.
func leftLock(o naming.Object) *coordinationv1.Lease {
	job, err := naming.JobName(o, naming.Apply, 1, "h2:00", "")
	if err != nil {
		panic(err)
	}
	id := "1dc81f46-c73c-e80d-8b5a-47eff734d8f9"
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: naming.LockLease(naming.Suffix(o)), Namespace: o.Namespace,
			Annotations: map[string]string{
				lock.InfoAnnotation: `{"ID":"` + id + `","Operation":"OperationTypeApply","Who":"nonroot@` + job + `-x7k2p"}`,
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &id},
	}
}
