package runtime

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestArgs(t *testing.T) {
	var none Args
	all := Args{
		LockTimeout:   299*time.Second + 900*time.Millisecond,
		BackendConfig: []string{"secret_suffix=abc-c", `labels={"a"="b c"}`},
		VarFiles:      []string{"terraform.tfvars.json", "/vars/more.tfvars"},
	}
	const c = " -input=false -no-color -lock-timeout=299s"
	const vars = " -var-file=terraform.tfvars.json -var-file=/vars/more.tfvars"
	tests := []struct {
		name string
		got  []string
		want string
	}{
		{"init", none.Init(), "init -input=false -no-color -lock-timeout=0s -reconfigure"},
		{"init, all", all.Init(), "init" + c + ` -reconfigure -backend-config=secret_suffix=abc-c -backend-config=labels={"a"="b c"}`},
		{"apply", none.Apply(), "apply -input=false -no-color -lock-timeout=0s -json -auto-approve"},
		{"apply, all", all.Apply(), "apply" + c + " -json -auto-approve" + vars},
		{"apply of a saved plan", all.ApplyPlan("/p"), "apply" + c + " -json /p"},
		{"destroy", all.Destroy(), "destroy" + c + " -json -auto-approve" + vars},
		{"refresh", all.RefreshOnly(), "apply" + c + " -json -refresh-only -auto-approve" + vars},
		{"plan", all.Plan("/p", true), "plan" + c + " -json -detailed-exitcode" + vars + " -out=/p"},
		{"plan for drift", all.Plan("/p", false), "plan" + c + " -json -detailed-exitcode -refresh=false" + vars + " -out=/p"},
		{"show", all.Show("/p"), "show -json -no-color /p"},
		{"force-unlock", all.ForceUnlock("id"), "force-unlock -no-color -force id"},
		{"push", all.StatePush("/s", false), "state push -lock-timeout=299s /s"},
		{"push of a restore", all.StatePush("/s", true), "state push -lock-timeout=299s -force /s"},
		{"list", all.StateList(), "state list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, strings.Join(tt.got, " ")); diff != "" {
				t.Errorf("argv (-want +got):\n%s", diff)
			}
		})
	}
	if args := all.Init(); args[len(args)-1] != `-backend-config=labels={"a"="b c"}` {
		t.Errorf("a setting with spaces is not one argv element: %q", args)
	}
}
