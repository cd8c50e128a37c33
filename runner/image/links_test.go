package image

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// TestLinkedRuntime has the runtime where a package manager puts it.
func TestLinkedRuntime(t *testing.T) {
	c := real(t, tools.Runtimes(t)[1])
	c.files["usr/bin/terraform"] = c.files["captf/runtime"]
	c.files["captf/runtime"] = entry{mode: 0o777, link: "../usr/bin/terraform"}
	if found := looked(t, c).Check(t.Context(), true); Failed(found) || !strings.HasPrefix(found[0].Message, "terraform 1.") {
		t.Errorf("findings: %v", found)
	}
}

// links has everything in other places than the contract says, and links that lead there.
func (c *content) links() {
	for name, e := range c.files {
		for place, store := range map[string]string{"captf/module": "opt/modules/net", "captf/providers": "opt/mirror", "captf/runtime": "usr/bin/tofu"} {
			if rest, ok := strings.CutPrefix(name, place); ok {
				delete(c.files, name)
				c.files[store+rest] = e
			}
		}
	}
	c.files["captf/module"] = entry{mode: 0o777, link: "/opt/modules/net"}
	c.files["captf/providers"] = entry{mode: 0o777, link: "../srv/mirror"}
	c.files["srv"] = entry{mode: 0o777, link: "opt"}
	c.files["captf/runtime"] = entry{mode: 0o777, link: "/usr/bin/tofu"}
}

// A container follows links, and so does a check: what is behind them is read, and asked for the same.
func TestLinks(t *testing.T) {
	tests := map[string]struct {
		change func(c *content)
		want   string // level, subject and a part of the message; empty when nothing is wrong
	}{
		"folders": {func(c *content) { c.links() }, ""},
		"hard links": {func(c *content) {
			for _, name := range []string{"captf/module/main.tf", "captf/runtime"} {
				c.files["store/"+name] = c.files[name]
				c.files[name] = entry{mode: 0o644, hard: "store/" + name}
			}
		}, ""},
		"a hard link in the module": {func(c *content) { c.files["captf/module/a.tf"] = entry{mode: 0o644, hard: "captf/module/main.tf"} }, ""},
		"a file": {func(c *content) {
			c.files["opt/a.tf"] = c.files["captf/module/main.tf"]
			c.files["captf/module/main.tf"] = entry{mode: 0o777, link: "../../opt/a.tf"}
		}, ""},
		"a file beside it": {func(c *content) {
			c.files["captf/module/v2/net"] = c.files["captf/module/main.tf"]
			c.files["captf/module/main.tf"] = entry{mode: 0o777, link: "v2/net"}
		}, ""},
		"a folder of modules": {func(c *content) {
			c.files["opt/sub/main.tf"] = entry{mode: 0o644, text: `resource "aws_vpc" "a" {}`}
			c.files["captf/module/sub"] = entry{mode: 0o777, link: "/opt/sub"}
			c.add("captf/module/call.tf", `module "a" { source = "./sub" }`)
		}, "error providers registry.opentofu.org/hashicorp/aws: the mirror has none"},
		"a provider": {func(c *content) {
			c.links()
			name := strings.Replace(mirrored("0.1.0")+"x", "captf/providers", "opt/mirror", 1)
			c.files["cache/probe"] = c.files[name]
			c.files[name] = entry{mode: 0o777, link: "/cache/probe"}
			c.change("cache/probe", 0o644)
		}, "error layout 1 files or folders are not readable"},
		"a file for root":      {func(c *content) { c.links(); c.change("opt/modules/net/main.tf", 0o600) }, "error layout 1 files or folders are not readable (or executable) for every user, such as /captf/module/main.tf"},
		"a folder for root":    {func(c *content) { c.links(); c.files["opt/modules/"] = entry{mode: 0o700} }, "error layout 1 files or folders are not readable (or executable) for every user, such as /opt/modules"},
		"nowhere":              {func(c *content) { c.files["captf/module/b.tf"] = entry{mode: 0o777, link: "/gone.tf"} }, "error module /captf/module/b.tf is a link to what is not in the image"},
		"nowhere, and nothing": {func(c *content) { c.files["captf/module/README"] = entry{mode: 0o777, link: "gone"} }, "warning module /captf/module/README is a link"},
		"to itself":            {func(c *content) { c.files["captf/module/b.tf"] = entry{mode: 0o777, link: "b.tf"} }, "error module /captf/module/b.tf is a link"},
		"a folder in itself":   {func(c *content) { c.files["captf/module/again"] = entry{mode: 0o777, link: "."} }, ""},
		"the module leads nowhere": {func(c *content) {
			delete(c.files, "captf/module/")
			c.empty()
			c.files["captf/module"] = entry{mode: 0o777, link: "/gone"}
		}, "error module /captf/module is no folder"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := complete()
			tt.change(&c)
			var found []string
			for _, f := range looked(t, c).Check(t.Context(), true) {
				if f.Level != Good {
					found = append(found, string(f.Level)+" "+f.Subject+" "+f.Message)
				}
			}
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0], tt.want)) {
				t.Errorf("found %q, want one: %q", found, tt.want)
			}
		})
	}
}
