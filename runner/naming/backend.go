package naming

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// BackendConfig returns the key=value pairs that init gets as -backend-config,
// one argv element each: secret_suffix, namespace, in_cluster_config, labels.
// The error is that of [Object.Validate].
func BackendConfig(o Object) ([]string, error) {
	labels, err := Labels(o)
	if err != nil {
		return nil, fmt.Errorf("backend configuration: %w", err)
	}
	return []string{
		"secret_suffix=" + Suffix(o),
		"namespace=" + o.Namespace,
		"in_cluster_config=true",
		"labels=" + hclMap(labels),
	}, nil
}

// hclMap writes m as an HCL object on one line, keys sorted, all quoted.
func hclMap(m map[string]string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(hclQuote(k) + "=" + hclQuote(m[k]))
	}
	b.WriteByte('}')
	return b.String()
}

// hclQuote writes s as a quoted HCL template that evaluates to s.
func hclQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			// Doubled, it no longer opens an interpolation or a directive.
			b.WriteRune(r)
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
