package lease_test

import (
	"context"
	"fmt"
	"time"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// A machine asks while its cluster's Job is about to start. In a controller the Gate has
// clientset.CoordinationV1().Leases(namespace), and a func that reads a Job and its pods live.
func ExampleGate_Enter() {
	ctx, w := context.Background(), newWorld()
	gate := gateOf(w)

	cluster := lease.Claim{
		Object: naming.Object{Kind: naming.Cluster, Namespace: "infra", Name: "prod", Cluster: "prod"},
		Op:     naming.Apply, Job: "captf-c-prod-apply-a1-0a1b2c", Deadline: time.Hour,
	}
	machine := lease.Claim{
		Object: naming.Object{Kind: naming.Machine, Namespace: "infra", Name: "worker", Cluster: "prod"},
		Op:     naming.Apply, Job: "captf-m-worker-apply-a1-3d4e5f", Deadline: time.Hour,
	}
	ask := func(c lease.Claim) {
		a, err := gate.Enter(ctx, c)
		switch {
		case err != nil:
			fmt.Println(err)
		case a.Admitted():
			fmt.Println(c.Job, "may be created") // before a.CreateBefore
		default:
			fmt.Println(c.Job, a.Reason, a.Jobs)
		}
	}
	ask(cluster)
	ask(machine)
	if err := gate.Leave(ctx, cluster); err != nil { // when its Job has finished
		fmt.Println(err)
	}
	ask(machine)
	// Output:
	// captf-c-prod-apply-a1-0a1b2c may be created
	// captf-m-worker-apply-a1-3d4e5f WaitingForClusterOperation [captf-c-prod-apply-a1-0a1b2c]
	// captf-m-worker-apply-a1-3d4e5f may be created
}
