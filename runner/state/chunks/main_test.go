package chunks_test

import (
	"os"
	"testing"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/state/chunks"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// cluster is one object with the library's view of it.
type cluster struct {
	*statetest.Cluster
	api chunks.API
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	return cluster{c, chunks.API{Secrets: c.Secrets, Leases: c.Leases}}
}

func (c cluster) gather(t *testing.T) *chunks.Set {
	t.Helper()
	set, err := c.api.Gather(t.Context(), c.Object)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// shared is for a test that has several objects.
func shared(t *testing.T) *kubetest.Server { return kubetest.Shared(t) }

func tofu(t *testing.T) tools.Runtime { return tools.Runtimes(t)[0] }

func terraform(t *testing.T) tools.Runtime { return tools.Runtimes(t)[1] }

// eachRuntime runs a test with both runtimes.
func eachRuntime(t *testing.T, test func(t *testing.T, c cluster, runtime tools.Runtime)) {
	for _, runtime := range tools.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) { test(t, newCluster(t), runtime) })
	}
}

// oneResource is a module that needs no provider.
const oneResource = `
resource "terraform_data" "one" { input = "a" }
output "id" { value = terraform_data.one.id }
`
