package state

import (
	"encoding/json"
	"io"
)

// Summary is what a state says about itself.
type Summary struct {
	Serial  uint64
	Lineage string
	// TerraformVersion is that of the program that wrote the state. It does not
	// tell which program that was.
	TerraformVersion string
	// Outputs are the root outputs by name.
	Outputs map[string]Output
	// Resources is the number of managed resources. One with count or for_each
	// counts once, data sources do not count.
	Resources int
	// Size is that of the decompressed state in bytes.
	Size int64
	// CompressedSize is that of the compressed state in bytes, without chunks
	// that stayed behind. It is 0 for a state that is not in Secrets.
	CompressedSize int64
	// Chunks is the number of Secrets, with those that stayed behind.
	Chunks int
	// InputsHash is the hash on the base Secret, empty if there is none.
	InputsHash string
}

// Output is a root output. Value and Type are JSON as it stands in the state.
type Output struct {
	Value     json.RawMessage
	Type      json.RawMessage
	Sensitive bool
}

// ReadJSON summarises a state that is not compressed. The error has the reason
// [Corrupt] or [Encrypted], the latter with a summary without outputs and
// resources; or it is that of r.
func ReadJSON(r io.Reader) (*Summary, error) {
	return summarise(newScanner(&bounded{r: r, left: MaxSize}, windowSize))
}

func summarise(s *scanner) (*Summary, error) {
	d := document{s: s}
	if err := d.read(); err != nil {
		return nil, err
	}
	sum := &Summary{Serial: d.serial, Lineage: d.lineage, TerraformVersion: d.tool, Size: s.offset()}
	switch {
	case d.encrypted:
		return sum, &Error{Reason: Encrypted, Err: errEncrypted}
	case d.version == nil:
		return nil, corrupt("it has no version")
	case *d.version != version:
		return nil, corrupt("it has version %d, this program reads %d", *d.version, version)
	}
	sum.Outputs, sum.Resources = d.outputs, d.resources
	return sum, nil
}
