package chunks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// CheckLabels is the guard before a Job is launched. Its error, of the reason [state.Mislabelled], names every Secret
// and label by which a runtime would not find the state, and begin with an empty one in its place.
func (s *Set) CheckLabels() error {
	wrong, err := s.Mislabelled()
	if err != nil {
		return err
	}
	return mislabelled(wrong)
}

// Mislabelling is a Secret of the state that lacks labels, or has them with other values.
type Mislabelling struct {
	Secret string
	Have   map[string]string // all labels of the Secret
	Want   map[string]string // those that are to be set
}

// Mislabelled returns the Secrets that a runtime would not find by their labels, parts first. An error is that of
// [naming.Object.Validate].
func (s *Set) Mislabelled() ([]Mislabelling, error) {
	selector, err := s.selector()
	if err != nil {
		return nil, err
	}
	var all []Mislabelling
	for _, secret := range s.all() {
		want := maps.Clone(selector)
		maps.DeleteFunc(want, func(key, value string) bool {
			got, there := secret.Labels[key]
			return there && got == value
		})
		if len(want) > 0 {
			all = append(all, Mislabelling{secret.Name, secret.Labels, want})
		}
	}
	return all, nil
}

// selector is what the object's Jobs hand to the backend.
func (s *Set) selector() (map[string]string, error) {
	own, err := naming.Labels(s.Object)
	if err != nil {
		return nil, err
	}
	return naming.BackendSelector(naming.Suffix(s.Object), own), nil
}

// mislabelled is the error of the reason state.Mislabelled, nil for none. It names the first Secret, and tells of all.
func mislabelled(wrong []Mislabelling) error {
	if len(wrong) == 0 {
		return nil
	}
	var text []string
	for i, w := range wrong {
		if i > 0 {
			text = append(text, "secret "+w.Secret+": "+w.String())
			continue
		}
		text = append(text, w.String())
	}
	return &state.Error{Reason: state.Mislabelled, Secret: wrong[0].Secret, Err: fmt.Errorf(
		"%s: a runtime would not find the state, and begin with an empty one; set all of them", strings.Join(text, "; "))}
}

// String says what is wrong with the labels.
func (m Mislabelling) String() string {
	var text []string
	for _, key := range slices.Sorted(maps.Keys(m.Want)) {
		if got, there := m.Have[key]; there {
			text = append(text, fmt.Sprintf("label %s is %q instead of %q", key, got, m.Want[key]))
		} else {
			text = append(text, fmt.Sprintf("label %s is missing, want %q", key, m.Want[key]))
		}
	}
	return strings.Join(text, ", ")
}

// checkValues is CheckLabels for labels that are there with another value: what is only missing is no error.
func (s *Set) checkValues() error {
	all, err := s.Mislabelled()
	if err != nil {
		return err
	}
	var wrong []Mislabelling
	for _, m := range all {
		maps.DeleteFunc(m.Want, func(key, _ string) bool {
			_, there := m.Have[key]
			return !there
		})
		if len(m.Want) > 0 {
			wrong = append(wrong, m)
		}
	}
	return mislabelled(wrong)
}
