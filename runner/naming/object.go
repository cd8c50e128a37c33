package naming

import "fmt"

// Kind is the kind of an object that owns one Terraform state.
type Kind string

// The kinds that may own a state.
const (
	Cluster     Kind = "TerraformCluster"
	Machine     Kind = "TerraformMachine"
	MachinePool Kind = "TerraformMachinePool"
)

// Kinds returns every known kind.
func Kinds() []Kind { return []Kind{Cluster, Machine, MachinePool} }

// Short returns the code that stands for the kind in names: c, m or mp. It is
// empty for an unknown kind.
func (k Kind) Short() string {
	switch k {
	case Cluster:
		return "c"
	case Machine:
		return "m"
	case MachinePool:
		return "mp"
	}
	return ""
}

// ParseKind returns the kind called s, or an error that lists the known ones.
func ParseKind(s string) (Kind, error) {
	if k := Kind(s); k.Short() != "" {
		return k, nil
	}
	return "", fmt.Errorf("kind %q is unknown: use one of %v", s, Kinds())
}

// Object identifies the owner of one state.
type Object struct {
	Kind      Kind
	Namespace string
	Name      string
	// Cluster is the name of the Cluster API cluster that the object belongs
	// to. It may be empty for an object outside any cluster.
	Cluster string
}

// String returns the form that errors and logs use, namespace/kind/name.
func (o Object) String() string {
	return o.Namespace + "/" + string(o.Kind) + "/" + o.Name
}

// Validate reports the first field from which no name can be made: an unknown
// kind, a namespace that is no DNS label, a name that is no DNS subdomain, or a
// cluster that is no label value. Functions of this package that return an
// error call it; those that return a plain string expect a valid object.
func (o Object) Validate() error {
	if _, err := ParseKind(string(o.Kind)); err != nil {
		return fmt.Errorf("object %s: %w", o, err)
	}
	if !isDNSLabel(o.Namespace) {
		return fmt.Errorf("object %s: namespace %q is not a DNS label: use at most 63 of a-z, 0-9 and inner hyphens", o, o.Namespace)
	}
	if !isDNSSubdomain(o.Name) {
		return fmt.Errorf("object %s: name %q is not a DNS subdomain: use at most 253 of a-z, 0-9, inner hyphens and dots", o, o.Name)
	}
	if _, err := LabelValue(o.Cluster); err != nil {
		return fmt.Errorf("object %s: cluster: %w", o, err)
	}
	return nil
}
