// Package explain tells people what is in a state, and what differs between two, without ever showing
// a sensitive value.
//
// [Read] explains one state: who wrote it, what its serial and lineage mean for the next write, what it
// holds by module, type and provider, where its sensitive values are, and what to check before it is
// pushed, or something in it is moved or removed. [Diff] compares two. Both results have JSON tags, and a
// WriteText method for people. The input is the plain JSON document, such as state.Source.Open gives it;
// the one that OpenTofu encrypted is explained as far as its envelope goes.
//
// # What is never shown
//
// Read shows no value at all, and no sensitive value that stands in a key. Diff shows values, but none that one of
// the two states marks as sensitive (sensitive_attributes, or a sensitive output), none whose name or resource type
// says that it is a secret (redact.SecretName, and more names that are secret in a state), none that looks like one
// (a private key in PEM, a URL or connection string with a password), none that a provider keeps for itself, and not
// the text of any of them inside another value or a key.
//
// # Memory
//
// Read keeps the names and the secrets in a state, and one resource at a time. Diff keeps the instances of the first
// state, and of the second one resource at a time.
package explain

// Document explains one state.
type Document struct {
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // sha256: and the hex of it

	FormatVersion int    `json:"formatVersion,omitempty"`
	ToolVersion   string `json:"toolVersion,omitempty"` // of the program that wrote it
	// Runtime is the program that wrote it as far as its providers tell: "OpenTofu", "Terraform" or empty.
	Runtime string `json:"runtime,omitempty"`
	// Serial counts only when Lineage is not empty: an envelope may show neither.
	Serial     uint64      `json:"serial"`
	Lineage    string      `json:"lineage,omitempty"`
	Encryption *Encryption `json:"encryption,omitempty"`

	// NextWrite is what serial and lineage mean for whoever writes next.
	NextWrite []string `json:"nextWrite"`

	Modules   []Count     `json:"modules,omitempty"`
	Types     []Count     `json:"types,omitempty"`
	Providers []Count     `json:"providers,omitempty"`
	Resources []Resource  `json:"resources,omitempty"`
	Outputs   []Output    `json:"outputs,omitempty"`
	Sensitive []Sensitive `json:"sensitive,omitempty"`
	Checks    []Check     `json:"checks,omitempty"`

	Advice []Advice `json:"advice"`
}

// Encryption is what the envelope of a state shows that OpenTofu encrypted.
type Encryption struct {
	Version string `json:"version"`
	// KeyProviders are the configured ones whose keys open it.
	KeyProviders []string `json:"keyProviders,omitempty"`
}

// Count is how much there is of something.
type Count struct {
	Name string `json:"name"`
	// Resources and Instances are those under management.
	Resources int `json:"resources"`
	Instances int `json:"instances"`
	// Data is the number of instances of data sources.
	Data int `json:"data"`
}

// Resource is a resource or a data source.
type Resource struct {
	Address  string `json:"address"`
	Module   string `json:"module,omitempty"` // empty for the root module
	Mode     string `json:"mode"`             // "managed" or "data"
	Type     string `json:"type"`
	Name     string `json:"name"`
	Provider string `json:"provider"` // hostname/namespace/type, and an alias behind a dot

	Instances []Instance `json:"instances"`
	// DependsOn and NeededBy are addresses of resources.
	DependsOn []string `json:"dependsOn,omitempty"`
	NeededBy  []string `json:"neededBy,omitempty"`
}

// Managed reports whether r is under management, not a data source.
func (r Resource) Managed() bool { return r.Mode == modeManaged }

// Instance is one object of a resource.
type Instance struct {
	Address string `json:"address"`
	// Deposed is the key of an object that its replacement has not yet removed.
	Deposed             string `json:"deposed,omitempty"`
	Tainted             bool   `json:"tainted,omitempty"`
	CreateBeforeDestroy bool   `json:"createBeforeDestroy,omitempty"`
}

// Output is an output of the root module.
type Output struct {
	Name      string `json:"name"`
	Type      string `json:"type"` // as JSON
	Sensitive bool   `json:"sensitive"`
}

// The reasons for which a value counts as sensitive.
const (
	Marked = "marked" // the state says so
	Named  = "named"  // the name of the attribute, the type of its resource, or the look of the value says so
)

// Sensitive is where the state has a sensitive value.
type Sensitive struct {
	Address string `json:"address"`        // of an instance, or output.NAME
	Path    string `json:"path,omitempty"` // of an attribute; empty for an output
	Why     string `json:"why"`            // Marked or Named
}

// Check is the result of a check block, a condition or a validation.
type Check struct {
	Address string `json:"address"`
	Status  string `json:"status"` // "pass", "fail", "error" or "unknown"
}

// The topics of an Advice.
const (
	Push   = "push"
	Move   = "move"
	Remove = "remove"
	Keep   = "keep" // copies of the state
)

// Advice is one thing to check before something is done with the state.
type Advice struct {
	Topic string `json:"topic"`
	Text  string `json:"text"`
}
