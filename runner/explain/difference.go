package explain

// Difference is what differs between two states.
type Difference struct {
	Before Side `json:"before"`
	After  Side `json:"after"`
	// Same says that both have the same bytes.
	Same bool `json:"same"`
	// Notes tell what serials and lineages mean, and what could not be compared.
	Notes []string `json:"notes,omitempty"`

	Added   []Reference `json:"added"`
	Removed []Reference `json:"removed"`
	// Moved are instances that are the same under another address.
	Moved   []Moved  `json:"moved"`
	Changed []Change `json:"changed"`
	Outputs []Value  `json:"outputs"`
}

// Empty reports whether resources and outputs are the same, as far as they were compared.
func (d *Difference) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Moved)+len(d.Changed)+len(d.Outputs) == 0
}

// Encrypted reports whether resources and outputs could not be compared.
func (d *Difference) Encrypted() bool { return d.Before.Encrypted || d.After.Encrypted }

// Side is one of the two states.
type Side struct {
	Bytes       int64  `json:"bytes"`
	Digest      string `json:"digest"`
	ToolVersion string `json:"toolVersion,omitempty"`
	Serial      uint64 `json:"serial"`
	Lineage     string `json:"lineage,omitempty"`
	Encrypted   bool   `json:"encrypted,omitempty"`
}

// Reference is an instance.
type Reference struct {
	Address  string `json:"address"`
	Deposed  string `json:"deposed,omitempty"`
	Mode     string `json:"mode"`
	Provider string `json:"provider"`
}

// Moved is an instance with two addresses.
type Moved struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Change is an instance that is not the same.
type Change struct {
	Reference
	// Notes are changes other than of attributes.
	Notes      []string `json:"notes,omitempty"`
	Attributes []Value  `json:"attributes,omitempty"`
}

// The actions of a Value.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Value is an attribute or an output that is not the same.
type Value struct {
	Path   string `json:"path"` // of the attribute, or the name of the output
	Action string `json:"action"`
	// Sensitive says that Before and After are kept back.
	Sensitive bool `json:"sensitive,omitempty"`
	// Before and After are JSON, with secrets replaced and cut to MaxValue bytes. Nil when there is none.
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
}

// MaxValue is how much of a value is shown, in bytes.
const MaxValue = 512
