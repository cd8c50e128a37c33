package explain

import (
	"encoding/json"
	"strings"
)

// address is that of the resource.
func (r rawResource) address() string {
	var b strings.Builder
	if r.Module != "" {
		b.WriteString(r.Module + ".")
	}
	if r.Mode == modeData {
		b.WriteString("data.")
	}
	b.WriteString(r.Type + "." + r.Name)
	return b.String()
}

// address is that of the instance, as a person writes it in a command.
func (i rawInstance) address(resource string) string {
	if len(i.IndexKey) == 0 || string(i.IndexKey) == "null" {
		return resource
	}
	var key string
	if json.Unmarshal(i.IndexKey, &key) == nil {
		return resource + "[" + quote(key) + "]"
	}
	return resource + "[" + string(i.IndexKey) + "]"
}

// quote writes a string as HCL does.
func quote(s string) string {
	text := strings.ReplaceAll(encode(s), "${", "$${")
	return strings.ReplaceAll(text, "%{", "%%{")
}

// providerName takes module and quotes from provider["registry.opentofu.org/hashicorp/null"].alias.
func providerName(config string) string {
	_, rest, ok := strings.Cut(config, `provider["`)
	if !ok {
		return config
	}
	name, alias, _ := strings.Cut(rest, `"]`)
	return name + alias
}

// runtimeOf tells the program by the registry that its providers have by default.
func runtimeOf(provider string) string {
	host, _, _ := strings.Cut(provider, "/")
	switch host {
	case "registry.opentofu.org":
		return "OpenTofu"
	case "registry.terraform.io":
		return "Terraform"
	}
	return ""
}
