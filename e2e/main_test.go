package e2e

import (
	"os"
	"testing"

	"github.com/captf/captf-runner/e2e/internal/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }
