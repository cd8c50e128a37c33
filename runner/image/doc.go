// Package image checks a module image against the image contract (docs/images.md) without a container engine: what
// lies where, who may read it, which user it runs as, its labels, and whether its provider mirror has every provider that
// its module asks for.
//
// Open reads an image from a registry, an archive or a folder; Image.Check finds what is wrong with it.
package image

// The places of the contract.
const (
	RuntimePath   = "/captf/runtime"   // tofu or terraform, an executable file
	ModulePath    = "/captf/module"    // the module
	ProvidersPath = "/captf/providers" // a filesystem mirror, if there is one
	ConfigPath    = "/captf/config"    // the rendered root is mounted here
	WorkPath      = "/captf/work"      // scratch, mounted or writable
	BinPath       = "/captf/bin"       // the runner is copied here
)

// The labels of the contract.
const (
	LabelContract = "captf.io/contract" // Contract
	LabelRuntime  = "captf.io/runtime"  // "opentofu" or "terraform"

	// Contract is the version of the contract that this package knows.
	Contract = "1"
)
