package image

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/internal/tools"
)

func TestCompleteImage(t *testing.T) {
	for _, runtime := range tools.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			var got []string
			for _, f := range looked(t, real(t, runtime)).Check(t.Context(), true) {
				got = append(got, string(f.Level)+" "+f.Subject)
			}
			want := []string{"ok runtime", "ok module", "ok providers", "ok user", "ok labels", "ok labels"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDefects has one thing wrong in each image: that one is found, and no other.
func TestDefects(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(c *content)
		want  string // level, subject and a part of the message
	}{
		{"no runtime", func(c *content) { delete(c.files, "captf/runtime") }, "error runtime /captf/runtime is missing"},
		{"a folder as runtime", func(c *content) { delete(c.files, "captf/runtime"); c.files["captf/runtime/"] = entry{mode: 0o755} }, "error runtime /captf/runtime is no file"},
		{"a runtime for root", func(c *content) { c.change("captf/runtime", 0o700) }, "error runtime /captf/runtime has mode 700"},
		{"a runtime that is none", func(c *content) { c.files["captf/runtime"] = entry{mode: 0o755, text: "#!/bin/sh\necho hello\n"} }, "error runtime /captf/runtime is neither"},
		{"a runtime that says nothing", func(c *content) { c.files["captf/runtime"] = entry{mode: 0o755, text: "#!/bin/sh\n"} }, "error runtime /captf/runtime is neither OpenTofu nor Terraform: asked for its version, it prints \"\""},
		{"a runtime that fails", func(c *content) { c.files["captf/runtime"] = entry{mode: 0o755, text: "#!/bin/sh\necho no; exit 3\n"} }, "error runtime /captf/runtime does not start: exit status 3: no"},
		{"a link into nothing", func(c *content) { c.files["captf/runtime"] = entry{mode: 0o777, link: "/usr/bin/tofu"} }, "error runtime /captf/runtime is missing"},
		{"no module", func(c *content) { delete(c.files, "captf/module/"); c.empty() }, "error module /captf/module is no folder"},
		{"an empty module", func(c *content) { c.empty() }, "error module /captf/module holds no"},
		{"a broken module", func(c *content) { c.files["captf/module/main.tf"] = entry{mode: 0o644, text: "resource {"} }, "error module /captf/module has files that cannot be parsed"},
		{"a module with a backend", func(c *content) { c.add("captf/module/b.tf", "terraform {\n backend \"s3\" {}\n}\n") }, "warning module it declares a backend"},
		{"a module for root", func(c *content) { c.change("captf/module/main.tf", 0o600) }, "error layout 1 files or folders are not readable"},
		{"a provider for root", func(c *content) { c.change(mirrored("0.1.0")+"x", 0o744) }, "error layout 1 files or folders are not readable"},
		{"no mirror", func(c *content) { delete(c.files, mirrored("0.1.0")+"x") }, "warning providers there is no mirror"},
		{"another version", func(c *content) { c.rename(mirrored("0.1.0"), mirrored("0.2.0")) }, "error providers example.test/captf/probe: the mirror has 0.2.0, the module wants ~> 0.1, ~> 0.1.0"},
		{"another platform", func(c *content) { c.rename("/linux_", "/plan9_") }, "error providers example.test/captf/probe: the mirror has none"},
		{"another provider", func(c *content) { c.add("captf/module/a.tf", `resource "aws_vpc" "a" {}`) }, "error providers registry.opentofu.org/hashicorp/aws: the mirror has none"},
		{"a lock file of another version", func(c *content) {
			c.add("captf/module/.terraform.lock.hcl", "provider \"example.test/captf/probe\" {\n  version = \"0.1.7\"\n}\n")
		}, "warning providers example.test/captf/probe: the lock file has 0.1.7"},
		{"a folder for root", func(c *content) { c.files["captf/"] = entry{mode: 0o700} }, "error layout 1 files or folders are not readable (or executable) for every user, such as /captf:"},
		{"a file that a Job hides", func(c *content) { c.add("captf/config/main.tf.json", "{}") }, "warning layout /captf/config/main.tf.json is in the way"},
		{"no folder to work in", func(c *content) { delete(c.files, "captf/work/") }, "warning layout /captf/work is no folder of user 65532"},
		{"a folder of root to work in", func(c *content) { c.files["captf/work/"] = entry{mode: 0o755} }, "warning layout /captf/work is no folder of user 65532"},
		{"root", func(c *content) { c.user = "" }, "warning user it runs as root"},
		{"root by number", func(c *content) { c.user = "0:0" }, "warning user it runs as root"},
		{"a name as user", func(c *content) { c.user = "nobody" }, "warning user user \"nobody\" is a name"},
		{"no label", func(c *content) { c.labels = nil }, "warning labels captf.io/contract is missing"},
		{"another contract", func(c *content) { c.labels[LabelContract] = "2" }, "error labels captf.io/contract=2"},
		{"a label of the other runtime", func(c *content) { c.labels[LabelRuntime] = Terraform }, "error labels captf.io/runtime=terraform, and the runtime is opentofu"},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			c := complete()
			c.add("captf/module/more.tf", `terraform {
  required_providers {
    probe = { source = "example.test/captf/probe", version = "~> 0.1.0" }
  }
}`)
			tt.spoil(&c)
			var found []string
			for _, f := range looked(t, c).Check(t.Context(), true) {
				if f.Level != Good {
					found = append(found, string(f.Level)+" "+f.Subject+" "+f.Message)
				}
			}
			if len(found) != 1 || !strings.HasPrefix(found[0], strings.ReplaceAll(tt.want, ", ~>", " and ~>")) {
				t.Errorf("found %q, want one: %s", found, tt.want)
			}
		})
	}
}

func (c *content) add(name, text string) { c.files[name] = entry{mode: 0o644, text: text} }

func (c *content) empty() {
	maps.DeleteFunc(c.files, func(name string, _ entry) bool {
		return strings.HasPrefix(name, "captf/module/") && name != "captf/module/"
	})
}

func (c *content) change(name string, mode int64) {
	e := c.files[name]
	e.mode = mode
	c.files[name] = e
}

func (c *content) rename(from, to string) {
	for name, e := range c.files {
		if changed := strings.Replace(name, from, to, 1); changed != name {
			delete(c.files, name)
			c.files[changed] = e
		}
	}
}

// TestNotStarted does not run what is for another machine, or not trusted.
func TestNotStarted(t *testing.T) {
	c := complete()
	c.files["captf/runtime"] = entry{mode: 0o755, text: "no program"}
	if found := looked(t, c).Check(t.Context(), false); Failed(found) {
		t.Errorf("not to be run: %v", found)
	}
	delete(c.files, mirrored("0.1.0")+"x")
	c.arch = "s390x"
	if found := looked(t, c).Check(t.Context(), true); Failed(found) {
		t.Errorf("of another platform: %v", found)
	}
}
