package naming

import (
	"maps"
	"slices"
)

// Labels that the backend itself gives to every chunk and to the lock Lease.
const (
	LabelState       = "tfstate"             // "true"
	LabelStateSuffix = "tfstateSecretSuffix" // the secret_suffix
	LabelWorkspace   = "tfstateWorkspace"    // "default"
	LabelManagedBy   = "app.kubernetes.io/managed-by"
)

// StateSelector returns the labels that every chunk of a state has, whatever labels its owner configured: a state
// is listed by them.
func StateSelector(suffix string) map[string]string {
	return map[string]string{LabelState: "true", LabelStateSuffix: suffix, LabelWorkspace: "default"}
}

// BackendSelector returns all the labels that the backend finds a state by: its own, and those of its setting labels.
// A chunk that lacks one of them is invisible to a runtime, which then begins with an empty state.
func BackendSelector(suffix string, labels map[string]string) map[string]string {
	selector := StateSelector(suffix)
	selector[LabelManagedBy] = "terraform"
	maps.Copy(selector, labels)
	return selector
}

// Unselected returns the first key in order by which selector does not select an object that has these labels. It
// is false if selector selects the object.
func Unselected(selector, labels map[string]string) (key string, ok bool) {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if got, there := labels[key]; !there || got != selector[key] {
			return key, true
		}
	}
	return "", false
}
