package naming

import "fmt"

// Label keys that the backend stamps on every chunk and on the lock Lease.
const (
	LabelOwnerKind = "captf.infrastructure.cluster.x-k8s.io/owner-kind"
	LabelOwnerName = "captf.infrastructure.cluster.x-k8s.io/owner-name"
	LabelCluster   = "cluster.x-k8s.io/cluster-name"
	LabelManaged   = "captf.io/managed"
	// LabelMove is empty: clusterctl moves whatever carries the key.
	LabelMove = "clusterctl.cluster.x-k8s.io/move"
)

// Labels returns the object's label map. It is the same for the whole life of
// the object, whatever labels the object itself gets. The error is that of
// [Object.Validate].
func Labels(o Object) (map[string]string, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return map[string]string{
		LabelOwnerKind: string(o.Kind),
		LabelOwnerName: shortLabel(o.Name), // a DNS subdomain holds no other bytes than a label value
		LabelCluster:   shortLabel(o.Cluster),
		LabelManaged:   "true",
		LabelMove:      "",
	}, nil
}

// LabelValue returns s as a label value: itself, or the first 16 hex characters
// of its SHA-256 when it is longer than 63 characters. The error names the rule
// that s breaks; a long value is checked before it is hashed, so that an
// invalid one never passes for its length.
func LabelValue(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) || !allBytes(s, isLabelByte) {
		return "", fmt.Errorf("%q is not a label value: use A-Z, a-z, 0-9, and '-', '_' or '.' between them", s)
	}
	return shortLabel(s), nil
}

// shortLabel returns s, of which every byte may be in a label value, or its hash if it is too long for one.
func shortLabel(s string) string {
	if len(s) > maxLabel {
		return shortHash(s)
	}
	return s
}

func isAlnum(c byte) bool { return isLowerAlnum(c) || 'A' <= c && c <= 'Z' }

func isLabelByte(c byte) bool { return isAlnum(c) || c == '-' || c == '_' || c == '.' }
