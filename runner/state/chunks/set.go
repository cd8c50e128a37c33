package chunks

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// Set is what the API server has of one state.
type Set struct {
	Object naming.Object
	// Found are the Secrets that the state's labels find, in no order.
	Found []corev1.Secret
	// Hidden are the Secrets that are called like chunks of the state and lack its labels: no runtime sees them.
	Hidden []corev1.Secret
}

// Source returns what the reader reads. applied says that the object has applied before, so that there must be a state.
func (s *Set) Source(applied bool) state.Source {
	source := state.Source{Suffix: naming.Suffix(s.Object), Applied: applied}
	for _, secret := range s.Found {
		chunk := state.Chunk{Name: secret.Name, Annotations: secret.Annotations}
		if data, ok := secret.Data[state.DataKey]; ok {
			chunk.Data = data
			if data == nil {
				chunk.Data = []byte{} // the key is there
			}
		}
		source.Chunks = append(source.Chunks, chunk)
	}
	return source
}

// Read summarises the state. An error is that of [state.Source.Read]; or it has the reason [state.Mislabelled], when
// a chunk is hidden: what the others say would not be the state. A state that is readable may still fail
// [Set.CheckLabels].
func (s *Set) Read(applied bool) (*state.Summary, error) {
	if len(s.Hidden) > 0 {
		return nil, s.CheckLabels()
	}
	return s.Source(applied).Read()
}

// Version tells the Secrets of two readings apart by their content: hex SHA-256, empty when there are none. It needs
// no key: whatever writes an encrypted state encrypts it anew.
func (s *Set) Version() string {
	all := s.all()
	if len(all) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, secret := range all {
		fmt.Fprintf(sum, "%s %s\n", secret.Name, dataHash(secret))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Unfilled reports whether there is only a Secret without a state: what the first init of all leaves when it is killed
// between making it and filling it. The next one fills it, so it is no damage if the object never applied.
func (s *Set) Unfilled() bool {
	if len(s.Hidden) > 0 || len(s.Found) != 1 || s.Found[0].Name != naming.StateSecret(naming.Suffix(s.Object), 0) {
		return false
	}
	_, filled := s.Found[0].Data[state.DataKey]
	return !filled
}

// all returns the Secrets that are called like chunks, parts first, in order, and the base last.
func (s *Set) all() []*corev1.Secret {
	type numbered struct {
		part   int
		secret *corev1.Secret
	}
	var chunks []numbered
	for _, secrets := range [][]corev1.Secret{s.Hidden, s.Found} {
		for i := range secrets {
			if part, ok := naming.StatePart(naming.Suffix(s.Object), secrets[i].Name); ok {
				chunks = append(chunks, numbered{part, &secrets[i]})
			}
		}
	}
	slices.SortStableFunc(chunks, func(a, b numbered) int { return cmp.Compare(uint(a.part-1), uint(b.part-1)) })
	all := make([]*corev1.Secret, len(chunks))
	for i, c := range chunks {
		all[i] = c.secret
	}
	return all
}
