package lock_test

import (
	"os"
	"testing"

	"github.com/captf/captf-runner/internal/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }
