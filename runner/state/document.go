package state

import "errors"

// version is the only state version that is read.
const version = 4

var errEncrypted = errors.New("OpenTofu encrypted it: serial and lineage are readable, outputs are not")

// document collects the parts of a state that are worth it. Where a key is there
// twice the last one counts, as it does for the runtimes.
type document struct {
	s         *scanner
	version   *uint64
	serial    uint64
	lineage   string
	tool      string
	encrypted bool
	outputs   map[string]Output
	resources int
}

// read reads the whole state.
func (d *document) read() error {
	if c := d.s.token(); c != '{' {
		return d.s.unexpected(c)
	}
	if err := d.s.object(d.member); err != nil {
		return err
	}
	return d.s.finish()
}

// member reads the value of a top-level key.
func (d *document) member(key []byte) error {
	switch string(key) {
	case "version":
		d.version = nil
		return d.s.decode(&d.version)
	case "serial":
		d.serial = 0
		return d.s.decode(&d.serial)
	case "lineage":
		d.lineage = ""
		return d.s.decode(&d.lineage)
	case "terraform_version":
		d.tool = ""
		return d.s.decode(&d.tool)
	case "outputs":
		d.outputs = map[string]Output{}
		return d.s.object(d.output)
	case "resources":
		d.resources = 0
		return d.s.array(d.resource)
	case "encryption_version":
		d.encrypted = true
	}
	return d.s.skip()
}

// output reads a root output.
func (d *document) output(key []byte) error {
	name := string(key)
	var o Output
	err := d.s.object(func(key []byte) (err error) {
		switch string(key) {
		case "value":
			o.Value, err = d.s.raw()
		case "type":
			o.Type, err = d.s.raw()
		case "sensitive":
			o.Sensitive = false
			err = d.s.decode(&o.Sensitive)
		default:
			err = d.s.skip()
		}
		return err
	})
	d.outputs[name] = o
	return err
}

// resource counts an element of resources.
func (d *document) resource() error {
	managed := false
	err := d.s.object(func(key []byte) error {
		if string(key) != "mode" {
			return d.s.skip()
		}
		mode, err := d.s.text()
		managed = string(mode) == `"managed"`
		return err
	})
	if managed {
		d.resources++
	}
	return err
}
