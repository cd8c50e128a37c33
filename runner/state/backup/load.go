package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// ErrIncomplete says that Secrets of a set are missing.
var ErrIncomplete = errors.New("it is not complete")

// Load reads a set of the object and checks it against its digest: what it returns may be restored. The error matches
// [ErrIncomplete], or has the reason [state.Corrupt] if the set is damaged; any other is the API server's.
func (s Store) Load(ctx context.Context, object naming.Object, set Set) (*Content, error) {
	content, err := s.load(ctx, naming.Suffix(object), set)
	if err != nil {
		return nil, fmt.Errorf("load %s %s: %w", set.Origin, set.Name, err)
	}
	return content, nil
}

func (s Store) load(ctx context.Context, suffix string, set Set) (*Content, error) {
	if !set.Complete() {
		return nil, fmt.Errorf("%w: %d of %d secrets are there: use another one", ErrIncomplete, len(set.there), set.Parts)
	}
	source := state.Source{Suffix: suffix, Applied: true}
	for part, name := range set.Secrets() {
		secret, err := s.Secrets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("get secret %s: %w", name, err)
		}
		source.Chunks = append(source.Chunks, state.Chunk{Name: naming.StateSecret(suffix, part), Data: secret.Data[state.DataKey]})
	}
	digest, sum, err := read(source)
	encrypted := errors.Is(err, state.Encrypted)
	switch {
	case err != nil && !encrypted:
		return nil, err
	case digest != set.Digest:
		return nil, &state.Error{Reason: state.Corrupt, Err: fmt.Errorf("its digest is %s, and was %s when it was made: use another one", digest, set.Digest)}
	}
	return &Content{Source: source, Summary: sum, Encrypted: encrypted}, nil
}

// read returns the digest of a state and its summary. For an encrypted one it returns both, and the error.
func read(source state.Source) (digest string, sum *state.Summary, err error) {
	sum, err = source.Read()
	if sum == nil {
		return "", nil, err
	}
	doc, errOpen := source.Open()
	if errOpen != nil {
		return "", nil, errOpen
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, doc); err != nil {
		return "", nil, err
	}
	return hex.EncodeToString(hash.Sum(nil)), sum, err
}
