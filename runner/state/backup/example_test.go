package backup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// Back a state up before a Job may change it, and find what to restore.
func ExampleStore_Take() {
	machine := naming.Object{Kind: naming.Machine, Namespace: "infra", Name: "worker", Cluster: "prod"}
	suffix := naming.Suffix(machine)
	var data bytes.Buffer
	z := gzip.NewWriter(&data)
	fmt.Fprint(z, `{"version":4,"serial":7,"lineage":"9c1e","outputs":{},"resources":[{"mode":"managed"}]}`)
	z.Close()
	// A controller makes its client from a rest.Config.
	client := fake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: naming.StateSecret(suffix, 0), Namespace: machine.Namespace, Labels: naming.StateSelector(suffix)},
		Data:       map[string][]byte{state.DataKey: data.Bytes()},
	})
	secrets := client.CoreV1().Secrets(machine.Namespace)
	ctx, store := context.Background(), backup.Store{Secrets: secrets}

	set, err := chunks.API{Secrets: secrets}.Gather(ctx, machine)
	if err != nil {
		fmt.Println(err)
		return
	}
	made, _, err := store.Take(ctx, set)
	if err != nil {
		fmt.Println(err) // no backup: nothing may be started that changes the state
		return
	}
	fmt.Println("backup of serial", made.Serial)
	if _, err := store.Prune(ctx, machine, backup.Keep); err != nil {
		fmt.Println(err)
	}

	copies, err := store.List(ctx, machine) // rescue sets, too
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range copies {
		if !c.Complete() {
			continue
		}
		content, err := store.Load(ctx, machine, c) // checks it
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.Origin, "of serial", c.Serial, "has resources:", content.Summary.Resources)
	}
	// Output:
	// backup of serial 7
	// backup of serial 7 has resources: 1
}
