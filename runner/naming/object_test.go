package naming

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	valid := Object{Kind: Machine, Namespace: "team-a", Name: "worker.0", Cluster: "prod"}
	tests := map[string]struct {
		change func(*Object)
		want   string // part of the error; empty for none
	}{
		"valid":                {func(*Object) {}, ""},
		"no cluster":           {func(o *Object) { o.Cluster = "" }, ""},
		"longest name":         {func(o *Object) { o.Name = strings.Repeat("a", 253) }, ""},
		"unknown kind":         {func(o *Object) { o.Kind = "Machine" }, `kind "Machine" is unknown`},
		"no namespace":         {func(o *Object) { o.Namespace = "" }, `namespace ""`},
		"dotted namespace":     {func(o *Object) { o.Namespace = "a.b" }, `namespace "a.b"`},
		"long namespace":       {func(o *Object) { o.Namespace = strings.Repeat("a", 64) }, "at most 63"},
		"no name":              {func(o *Object) { o.Name = "" }, `name ""`},
		"slash in name":        {func(o *Object) { o.Name = "a/b" }, `name "a/b"`},
		"upper case name":      {func(o *Object) { o.Name = "A" }, `name "A"`},
		"longest namespace":    {func(o *Object) { o.Namespace = strings.Repeat("a", 63) }, ""},
		"hyphen begins name":   {func(o *Object) { o.Name = "-a" }, `name "-a"`},
		"hyphen ends name":     {func(o *Object) { o.Name = "a-" }, `name "a-"`},
		"empty part of name":   {func(o *Object) { o.Name = "a..b" }, `name "a..b"`},
		"too long name":        {func(o *Object) { o.Name = strings.Repeat("a", 254) }, "at most 253"},
		"quotes in cluster":    {func(o *Object) { o.Cluster = `a,b="c"` }, `cluster: "a,b=\"c\"" is not a label value`},
		"long invalid cluster": {func(o *Object) { o.Cluster = strings.Repeat("a", 70) + " b" }, "is not a label value"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := valid
			tt.change(&o)
			wantError(t, o.Validate(), tt.want)
		})
	}
}

func TestParse(t *testing.T) {
	for _, k := range Kinds() {
		if got, err := ParseKind(string(k)); got != k || err != nil {
			t.Errorf("ParseKind(%q) = %q, %v", k, got, err)
		}
	}
	for _, op := range Ops() {
		if got, err := ParseOp(string(op)); got != op || err != nil {
			t.Errorf("ParseOp(%q) = %q, %v", op, got, err)
		}
	}
	_, err := ParseKind("terraformcluster")
	wantError(t, err, `kind "terraformcluster" is unknown: use one of [TerraformCluster TerraformMachine TerraformMachinePool]`)
	_, err = ParseOp("")
	wantError(t, err, `operation "" is unknown: use one of [apply destroy refresh drift plan restore]`)
}

// wantError checks that err is nil if want is empty, and else says want.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got error %v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want one with %q", err, want)
	}
}
