package kubernetes

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/settle"
)

const (
	// partSize is less than the 1 MiB that a Secret may have.
	partSize = 900 << 10
	// plainSize is up to which a value stays readable for people.
	plainSize = 8 << 10
)

// The names of a value inside a Secret.
const (
	plainField  = "value"
	packedField = "value.gz"
)

// value is a record's value as it is stored: in the Secret itself, or in parts.
type value struct {
	data  map[string][]byte
	parts int
}

// encode compresses a value that is longer than plainSize. If it does not fit into one
// Secret then, each part is given to keep as soon as it is full: a state may be long, and
// all of it must not be in memory a second time.
func encode(raw []byte, keep keepPart) (value, error) {
	if len(raw) <= plainSize {
		return value{data: map[string][]byte{plainField: raw}}, nil
	}
	p := packer{keep: keep}
	w := gzip.NewWriter(&p)
	if _, err := w.Write(raw); err != nil {
		return value{}, err
	}
	if err := w.Close(); err != nil {
		return value{}, err
	}
	if p.count == 0 {
		return value{data: map[string][]byte{packedField: p.part}}, nil
	}
	if err := p.flush(); err != nil {
		return value{}, err
	}
	return value{data: map[string][]byte{packedField: {}}, parts: p.count}, nil
}

// keepPart stores one part. The bytes are the caller's again afterwards.
type keepPart func(number int, data []byte) error

// packer cuts what is written to it into parts.
type packer struct {
	keep  keepPart
	part  []byte // at most partSize bytes, not kept yet
	count int    // parts that are kept
}

func (p *packer) Write(b []byte) (n int, err error) {
	for n < len(b) {
		if len(p.part) == partSize {
			if err := p.flush(); err != nil {
				return n, err
			}
		}
		fits := min(len(b)-n, partSize-len(p.part))
		p.part = append(p.part, b[n:n+fits]...)
		n += fits
	}
	return n, nil
}

func (p *packer) flush() error {
	if err := p.keep(p.count, p.part); err != nil {
		return err
	}
	p.count++
	p.part = p.part[:0]
	return nil
}

// value returns the value of a record's Secret. An error of the API server is given as it
// is: NotFound if a part is gone.
func (s *Store) value(ctx context.Context, secret *kube.Secret) ([]byte, error) {
	r, err := s.reader(ctx, secret)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(r)
	if unread := new(partError); err != nil && !errors.As(err, unread) {
		err = fmt.Errorf("the Secret %s is damaged: %w", secret.Name, err)
	}
	return raw, err
}

// stream is value without having all of it in memory.
func (s *Store) stream(ctx context.Context, secret *kube.Secret) (store.Body, error) {
	size, err := strconv.ParseInt(secret.Annotations[sizeAnnotation], 10, 64)
	if err != nil {
		return store.Body{}, fmt.Errorf("the Secret %s is damaged: annotation %s=%s", secret.Name, sizeAnnotation, secret.Annotations[sizeAnnotation])
	}
	if err := s.whole(ctx, secret); err != nil {
		return store.Body{}, err
	}
	r, err := s.reader(ctx, secret)
	return store.Body{ReadCloser: io.NopCloser(r), Size: size}, err
}

// whole returns ErrNotFound if a part of a value is gone, before any of it is given away.
func (s *Store) whole(ctx context.Context, secret *kube.Secret) error {
	text := secret.Annotations[partsAnnotation]
	if text == "" {
		return nil
	}
	id, count, err := splitParts(text)
	if err != nil {
		return nil // reader tells
	}
	there := 0
	selector := s.partsOf(secret.Annotations[keyAnnotation]) + "," + writeLabel + "=" + id
	if err := s.each(ctx, selector, func(kube.Metadata) error { there++; return nil }); err != nil {
		return err
	}
	if there < count {
		return fmt.Errorf("%d of its %d parts are gone: %w", count-there, count, store.ErrNotFound)
	}
	return nil
}

// reader expands the value of a record's Secret while it is read.
func (s *Store) reader(ctx context.Context, secret *kube.Secret) (io.Reader, error) {
	if raw, ok := secret.Data[plainField]; ok {
		return bytes.NewReader(raw), nil
	}
	packed := &parts{rest: secret.Data[packedField]}
	if text := secret.Annotations[partsAnnotation]; text != "" {
		id, count, err := splitParts(text)
		if err != nil {
			return nil, fmt.Errorf("the Secret %s is damaged: annotation %s=%s", secret.Name, partsAnnotation, text)
		}
		packed.count = count
		packed.get = func(number int) (*kube.Secret, error) {
			return s.secrets.Get(ctx, partName(secret.Name, id, number), metav1.GetOptions{})
		}
	}
	return gzip.NewReader(packed)
}

// parts reads a compressed value from its Secrets, one after another.
type parts struct {
	rest        []byte // of the part that was got last
	next, count int
	get         func(number int) (*kube.Secret, error)
}

func (p *parts) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.next == p.count {
			return 0, io.EOF
		}
		part, err := p.get(p.next)
		if err != nil {
			return 0, partError{err}
		}
		p.rest = part.Data[packedField]
		p.next++
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// partError is why a part could not be read: that shows no damage.
type partError struct{ error }

func (e partError) Unwrap() error { return e.error }

// partsName is the value of the annotation that names the parts.
func partsName(id string, count int) string { return fmt.Sprintf("%s.%d", id, count) }

func partName(record, id string, number int) string {
	return fmt.Sprintf("%s-%s-%d", record, strings.ToLower(id), number)
}

func splitParts(text string) (id string, count int, err error) {
	id, number, _ := strings.Cut(text, ".")
	count, err = strconv.Atoi(number)
	return id, count, err
}

// createPart stores one part of a value. Its name has the write's id, so one that is there
// already is the same part.
func (s *Store) createPart(ctx context.Context, w settle.Write, number int, data []byte) error {
	part := &kube.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: partName(s.nameOf(w.Key), w.ID, number),
			Labels: map[string]string{
				ownerLabel: owner, partLabel: s.digest("key", w.Key), writeLabel: w.ID,
			},
			Annotations: map[string]string{keyAnnotation: w.Key},
		},
		Type: secretType, Data: map[string][]byte{packedField: data},
	}
	if _, err := s.secrets.Create(ctx, part, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create part %d of %s: %w", number, w.Key, err)
	}
	return nil
}

// dropParts clears away the parts of one write, which nothing names. What stays
// harms nobody.
func (s *Store) dropParts(ctx context.Context, key, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = s.deleteParts(ctx, s.partsOf(key)+","+writeLabel+"="+id)
}

func (s *Store) deleteParts(ctx context.Context, selector string) error {
	return s.each(ctx, selector, func(part kube.Metadata) error { return s.delete(ctx, part.Name) })
}
