package address

import "testing"

func TestWithoutKeys(t *testing.T) {
	tests := []struct{ in, want string }{
		{"module.a", "module.a"},
		{"module.a[0].module.b[12]", "module.a.module.b"},
		{`module.a["x"].module.b`, "module.a.module.b"},
		{`module.a["x]y"].module.b`, "module.a.module.b"},
		{`module.a["x]\"[.module.z"].module.b["\\"]`, "module.a.module.b"},
	}
	for _, tt := range tests {
		if got := WithoutKeys(tt.in); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestInModule(t *testing.T) {
	for in, want := range map[string]string{
		"a.b":               "a.b",
		"data.x.y":          "data.x.y",
		"module.m.data.x.y": "data.x.y",
		"module.data.a.b":   "a.b",
		`module.m["data.z"].module.n[0].a.b["data.z"]`: "a.b",
		"": "",
	} {
		if got := InModule(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
