// Package image checks a module image against the image contract (docs/images.md) without a container engine: what
// lies where, who may read it, which user it runs as, its labels, and whether its provider mirror has every provider that
// its module asks for.
//
// Open reads an image from a registry, an archive or a folder; Image.Check finds what is wrong with it.
package image

// The labels of the contract.
const (
	LabelContract = "captf.io/contract" // Contract
	LabelRuntime  = "captf.io/runtime"  // "opentofu" or "terraform"

	// Contract is the version of the contract that this package knows.
	Contract = "1"
)
