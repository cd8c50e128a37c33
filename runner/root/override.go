package root

import "encoding/json"

// OverrideName is the name of the file that [Override] is the content of. Both runtimes read it,
// after every file whose name does not end in _override.
const OverrideName = "captf_backend_override.tf.json"

// Override returns the content of an override file that declares an empty backend block of the
// given type, to be filled by -backend-config (spec/runner.md, "Preparation" 3). It would take
// the place of a declared block and its settings, so it is only for a module without one.
func Override(backend string) []byte {
	type object map[string]any
	b, err := json.Marshal(object{"terraform": object{"backend": object{backend: object{}}}})
	if err != nil {
		return nil // maps of strings always encode
	}
	return append(b, '\n')
}
