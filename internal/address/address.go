// Package address takes apart the addresses by which tofu and terraform name resources.
package address

import "strings"

// WithoutKeys drops the instance keys: it names what the configuration has. A key may itself hold brackets and escaped
// quotes: module.a["x]\"["].module.b[0] is module.a.module.b.
func WithoutKeys(address string) string {
	var out strings.Builder
	inKey, inQuotes := false, false
	for i := 0; i < len(address); i++ {
		switch c := address[i]; {
		case inQuotes && c == '\\':
			i++
		case inKey && c == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case c == '[':
			inKey = true
		case c == ']':
			inKey = false
		case !inKey:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// InModule is the address that a resource has in its own module, without keys.
func InModule(address string) string {
	address = WithoutKeys(address)
	for {
		path, ok := strings.CutPrefix(address, "module.")
		if !ok {
			return address
		}
		_, address, _ = strings.Cut(path, ".")
	}
}
