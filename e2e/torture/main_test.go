package torture

import (
	"flag"
	"os"
	"testing"

	"github.com/captf/captf-runner/internal/kubetest"
)

// whole says that all of the tests are wanted, not just the part that every change is tested with.
var whole = os.Getenv("CAPTF_TORTURE") == "1"

func TestMain(m *testing.M) {
	// The cells mostly wait: more of them than there are processors can do so at once.
	_ = flag.Set("test.parallel", "6")
	os.Exit(kubetest.Run(m))
}
