package lock_test

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// A Job's pod was killed in the middle of an apply, and its lock stayed. lock.Check does the same with
// what it reads from the API server.
func ExampleJudge() {
	machine := naming.Object{Kind: naming.Machine, Namespace: "infra", Name: "worker", Cluster: "prod"}
	job, err := naming.JobName(machine, naming.Apply, 1, "h2:00", "")
	if err != nil {
		panic(err)
	}
	id := "1dc81f46-c73c-e80d-8b5a-47eff734d8f9"
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			lock.InfoAnnotation: `{"ID":"` + id + `","Operation":"OperationTypeApply","Who":"nonroot@` + job + `-x7k2p"}`,
		}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &id},
	}

	l := lock.FromLease(lease)
	owns := func(pod string) bool { return naming.OwnsPod(machine, pod) }
	fmt.Println("its pod runs:", lock.Judge(l, owns, lock.PodRunning))
	fmt.Println("its pod is gone:", lock.Judge(l, owns, lock.PodNotFound))
	fmt.Println("the next Job gets --force-unlock", l.ID())
	// Output:
	// its pod runs: Alive
	// its pod is gone: Stale
	// the next Job gets --force-unlock 1dc81f46-c73c-e80d-8b5a-47eff734d8f9
}
