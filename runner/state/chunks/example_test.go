package chunks_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

var machine = naming.Object{Kind: naming.Machine, Namespace: "infra", Name: "worker", Cluster: "prod"}

// exampleClient is a client whose server has the state of one machine. A controller makes its own from a rest.Config.
func exampleClient() kubernetes.Interface {
	labels, err := naming.Labels(machine)
	if err != nil {
		panic(err)
	}
	doc := `{"version":4,"serial":7,"lineage":"9c1e","outputs":{"ip":{"value":"10.0.0.5","type":"string"}},"resources":[]}`
	var data bytes.Buffer
	z := gzip.NewWriter(&data)
	fmt.Fprint(z, doc)
	z.Close()
	return fake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: naming.StateSecret(naming.Suffix(machine), 0), Namespace: machine.Namespace,
			Labels: naming.BackendSelector(naming.Suffix(machine), labels),
		},
		Data: map[string][]byte{state.DataKey: data.Bytes()},
	})
}

// Read a state, and say on the object whether that went well.
func ExampleAPI_Gather() {
	ctx, client := context.Background(), exampleClient()
	api := chunks.API{Secrets: client.CoreV1().Secrets(machine.Namespace), Leases: client.CoordinationV1().Leases(machine.Namespace)}
	set, err := api.Gather(ctx, machine)
	if err != nil {
		fmt.Println(err) // of the API server: try again
		return
	}
	sum, err := set.Read(true) // the machine has applied before, so there must be a state
	if err == nil {
		fmt.Println("serial", sum.Serial, "ip", string(sum.Outputs["ip"].Value))
		err = sum.CheckInputs("h2:00")
	}
	condition := state.Readable(err)
	fmt.Println(condition.Type, condition.Status, condition.Reason)
	fmt.Println("a Job may start:", set.CheckLabels() == nil)
	// Output:
	// serial 7 ip "10.0.0.5"
	// StateReadable False StateWithoutInputsHash
	// a Job may start: true
}

// Adopt the state after the Job of an apply has succeeded.
func ExampleAPI_Adopt() {
	ctx, client := context.Background(), exampleClient()
	api := chunks.API{Secrets: client.CoreV1().Secrets(machine.Namespace), Leases: client.CoordinationV1().Leases(machine.Namespace)}
	want := chunks.Adoption{
		Owner:      chunks.Owner{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "TerraformMachine", Name: "worker", UID: "3f2a"},
		InputsHash: "h2:00", // of the Job
	}
	for range 2 {
		set, err := api.Gather(ctx, machine)
		if err != nil {
			fmt.Println(err)
			return
		}
		done, err := api.Adopt(ctx, set, want)
		if err != nil {
			fmt.Println(err) // try again in the next pass
			return
		}
		fmt.Println("changed:", len(done.Changed))
	}
	// Output:
	// changed: 1
	// changed: 0
}
