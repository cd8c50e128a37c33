package lease_test

import (
	"os"
	"testing"

	"github.com/captf/captf-runner/internal/kubetest"
)

// torture asks for what takes minutes, too: scripts/torture.sh.
var torture = os.Getenv("CAPTF_TORTURE") == "1"

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }
