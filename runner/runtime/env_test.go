package runtime

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewEnviron(t *testing.T) {
	inherited := []string{
		"PATH=/bin", "HOME=/root", "KUBERNETES_SERVICE_HOST=10.0.0.1", "TFENV=kept", "KUBECONFIG=/kept",
		"TF_WORKSPACE=prod", "TF_CLI_ARGS_apply=-destroy", "TF_VAR_x=1", "TF_LOG=TRACE", "TF_DATA_DIR=/else",
		"TF_IN_AUTOMATION=1", "TF_INPUT=0", "KUBE_NAMESPACE=ns", "KUBE_TOKEN=t", "KUBE_CONFIG_PATH=",
		"CAPTF_BACKEND_CONFIG=password=x", "broken", "=odd", "PATH=/usr/bin",
	}
	got := NewEnviron(inherited, map[string]string{"HOME": "/work", "TF_DATA_DIR": "/work/.terraform"})
	want := Environ{
		Vars: []string{
			"HOME=/work", "KUBECONFIG=/kept", "KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBE_NAMESPACE=ns", "PATH=/usr/bin",
			"TFENV=kept", "TF_DATA_DIR=/work/.terraform", "TF_INPUT=0", "TF_IN_AUTOMATION=1",
		},
		Dropped: []string{"KUBE_CONFIG_PATH", "KUBE_TOKEN", "TF_CLI_ARGS_apply", "TF_DATA_DIR", "TF_LOG", "TF_VAR_x", "TF_WORKSPACE"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestForTerraformExec(t *testing.T) {
	env := NewEnviron([]string{"TF_INPUT=0", "TF_IN_AUTOMATION=1", "A=b=c"}, map[string]string{"TF_LOG": "DEBUG", "TF_LOG_PATH": "/f"})
	if diff := cmp.Diff(map[string]string{"A": "b=c"}, env.forTerraformExec()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
