package state_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// A controller fills Source with the Secrets that it listed live by the label
// tfstateSecretSuffix.
func ExampleSource_Read() {
	var data bytes.Buffer
	z := gzip.NewWriter(&data)
	fmt.Fprint(z, `{"version":4,"serial":7,"lineage":"9c1e","outputs":{"endpoint":{"value":"https://a","type":"string"}},"resources":[]}`)
	z.Close()

	suffix := naming.Suffix(naming.Object{Kind: naming.Cluster, Namespace: "team-a", Name: "prod"})
	source := state.Source{Suffix: suffix, Chunks: []state.Chunk{{Name: naming.StateSecret(suffix, 0), Data: data.Bytes()}}}
	sum, err := source.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("serial", sum.Serial, "endpoint", string(sum.Outputs["endpoint"].Value))

	source.Chunks[0].Data = data.Bytes()[:50]
	_, err = source.Read()
	fmt.Println("corrupt:", errors.Is(err, state.Corrupt))
	// Output:
	// serial 7 endpoint "https://a"
	// corrupt: true
}
