package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/captf/captf-runner/internal/kubetest"
)

func TestMain(m *testing.M) {
	// The tests that call Parallel mostly sleep: more of them than there are processors can do so at once.
	_ = flag.Set("test.parallel", "8")
	os.Exit(kubetest.Run(m))
}
