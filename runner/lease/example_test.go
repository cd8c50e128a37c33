package lease_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// A machine asks while its cluster's Job is about to start.
func ExampleGate_Enter() {
	ctx := context.Background()
	client := fake.NewClientset() // a controller has kubernetes.NewForConfig
	gate := lease.Gate{
		Leases: client.CoordinationV1().Leases("infra"),   // live, never a cache
		Jobs:   launch.NewClients(client, "infra").Holder, // reads one Job and its pods, live
	}
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
			fmt.Println(err) // start nothing, and try again
		case a.Admitted():
			fmt.Println("create", c.Job) // before a.CreateBefore
		default:
			fmt.Println(c.Job, a.Reason, a.Jobs) // ask again in the next pass
		}
	}
	ask(cluster)
	ask(machine)
	if err := gate.Leave(ctx, cluster); err != nil { // when its Job has finished
		fmt.Println(err)
	}
	ask(machine)
	// Output:
	// create captf-c-prod-apply-a1-0a1b2c
	// captf-m-worker-apply-a1-3d4e5f WaitingForClusterOperation [captf-c-prod-apply-a1-0a1b2c]
	// create captf-m-worker-apply-a1-3d4e5f
}
