package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// secretWords mark the name of a variable whose value is a secret.
var secretWords = []string{"KEY", "SECRET", "TOKEN", "PASS", "CREDENTIAL", "PRIVATE", "AUTH", "CERT", "SESSION"}

// SecretName reports whether the value of a variable of this name, of the environment or of a
// module, counts as a secret: its name contains KEY, SECRET, TOKEN, PASS, CREDENTIAL, PRIVATE,
// AUTH, CERT or SESSION in any case.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// FromEnv returns the values of the environment variables with a [SecretName]. The entries of
// environ have the form of os.Environ: NAME=value.
func FromEnv(environ []string) []string {
	var values []string
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && value != "" && SecretName(name) {
			values = append(values, value)
		}
	}
	return values
}

// FromVariables returns the strings and numbers, at any depth, of those variables in a
// terraform.tfvars.json whose names sensitive selects. A document that is broken yields what
// stands before the fault: the runtime will refuse it, and may quote it while doing so.
func FromVariables(tfvarsJSON []byte, sensitive func(name string) bool) []string {
	dec := json.NewDecoder(bytes.NewReader(tfvarsJSON))
	dec.UseNumber()
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var values []string
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return values
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return values
		}
		if sensitive(name) {
			values = append(values, leaves(value)...)
		}
	}
	return values
}

func leaves(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, leaves(e)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, e := range v {
			all = append(all, leaves(e)...)
		}
		return all
	}
	return nil
}
