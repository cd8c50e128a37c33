package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// AnnotationInputsHash is the annotation of the base Secret that holds the hash
// of the inputs that the state was made from.
const AnnotationInputsHash = "captf.io/inputs-hash"

// inputsScheme is the version of what is hashed and how. It is hashed too.
const inputsScheme = "h2"

// Inputs is everything that decides what an apply does.
type Inputs struct {
	// Contract is the version of the contract between controller and module.
	Contract string
	// Role says which of the module's parts the object is.
	Role string
	// Image is the module image's reference.
	Image string
	// Inputs are the rendered inputs, marshalled as encoding/json does. They
	// hold no number but integers: a fraction has no canonical form.
	Inputs any
	// Variables are the user's own, nil for none. Their numbers may be any, and
	// count as they are written: 1.0 is not 1.
	Variables any
}

// Hash returns "h2:" and the hex SHA-256 of the canonical JSON of the inputs:
// keys sorted bytewise, no white space, no HTML escapes. The error names what
// cannot be hashed. See "The inputs hash" in spec/state-and-locks.md.
func (in Inputs) Hash() (string, error) {
	doc := map[string]any{
		"scheme":   inputsScheme,
		"contract": in.Contract,
		"role":     in.Role,
		"image":    in.Image,
	}
	var err error
	if doc["inputs"], err = tree(in.Inputs); err != nil {
		return "", fmt.Errorf("hash inputs: %w", err)
	}
	if err := onlyIntegers("inputs", doc["inputs"]); err != nil {
		return "", fmt.Errorf("hash inputs: %w", err)
	}
	if in.Variables != nil {
		if doc["variables"], err = tree(in.Variables); err != nil {
			return "", fmt.Errorf("hash variables: %w", err)
		}
	}
	sum := sha256.Sum256(appendCanonical(nil, doc))
	return inputsScheme + ":" + hex.EncodeToString(sum[:]), nil
}
