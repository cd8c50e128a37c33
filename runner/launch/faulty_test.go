package launch

import (
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/kubetest"
)

// newMortal returns a client that dies after so many requests.
func newMortal(t testing.TB, lives int, mute bool) (*kubetest.Mortal, kubernetes.Interface) {
	t.Helper()
	m, client, err := kubetest.NewMortal(kubetest.Shared(t).Config(), lives)
	if err != nil {
		t.Fatal(err)
	}
	m.Mute = mute
	return m, client
}
