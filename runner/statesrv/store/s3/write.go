package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// idField is the metadata field with the id of the write that made an object. It
// is not the value's bytes that tell one's own write: two writers may bring equal
// ones.
const idField = "statesrv-write"

const (
	tries    = 4                     // of one write, all with the same id
	firstGap = 50 * time.Millisecond // between tries, doubled each time
	lookTime = 10 * time.Second      // to read an id back, also for a caller that has gone
)

// write is one Create or Swap.
type write struct {
	key  string
	data []byte
	id   string
	// create: the condition is that there is no object, else that it is at old.
	create bool
	old    store.Revision
}

// Create implements store.Store. What was refused, broken off or answered with a
// fault is read back: the write's own id is a success, an unchanged store is
// another try with the same id. What stays open after that, or was overwritten
// by somebody who may have seen it, is store.ErrUnknown.
func (s *Store) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	return s.do(ctx, write{key: key, data: data, create: true})
}

// Swap implements store.Store; see Create for lost answers.
func (s *Store) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	return s.do(ctx, write{key: key, data: data, old: old})
}

func (s *Store) do(ctx context.Context, w write) (store.Revision, error) {
	if err := check(ctx, w.key); err != nil {
		return "", err
	}
	w.id = rand.Text()
	send := s.settle
	if !w.create && w.old == "" {
		send = s.refuse
	}
	rev, err := send(ctx, w)
	if err != nil {
		return "", fmt.Errorf("%s: %w", w, err)
	}
	return rev, nil
}

// settle sends w until its outcome is known, at most a few times.
func (s *Store) settle(ctx context.Context, w write) (store.Revision, error) {
	lost := false // the answer of one try: it may have been done
	for try := 1; ; try++ {
		rev, err := s.put(ctx, w)
		if err == nil {
			return rev, nil
		}
		answer := answerOf(err)
		if answer == never && !lost {
			return "", s.explain(err)
		}
		lost = lost || answer == unclear
		now, lookErr := s.look(ctx, w.key)
		switch {
		case lookErr != nil:
			return "", unknown(err, lookErr)
		case now.id == w.id:
			return now.revision, nil
		case !w.changed(now):
			if try == tries || !pause(ctx, try) {
				return "", unknown(err, errGivenUp)
			}
		case lost:
			return "", unknown(err, errOverwritten)
		default:
			return "", w.lostTo(now)
		}
	}
}

// refuse answers a swap of a revision that no object has. It is not sent: some
// servers take an empty ETag for no condition at all.
func (s *Store) refuse(ctx context.Context, w write) (store.Revision, error) {
	now, err := s.look(ctx, w.key)
	if err != nil {
		return "", err
	}
	return "", w.lostTo(now)
}

// Why an outcome stays open.
var (
	errGivenUp     = errors.New("it is not done yet, and was tried often enough")
	errOverwritten = errors.New("another writer has written since")
)

func unknown(answer, why error) error {
	return fmt.Errorf("%w: %w; the last answer was: %w", store.ErrUnknown, why, answer)
}

// pause waits before the next try. It reports false if the caller has gone.
func pause(ctx context.Context, try int) bool {
	gap := firstGap << (try - 1)
	select {
	case <-time.After(gap/2 + mathrand.N(gap)):
		return true
	case <-ctx.Done():
		return false
	}
}

// put sends w once.
func (s *Store) put(ctx context.Context, w write) (store.Revision, error) {
	in := &awss3.PutObjectInput{
		Bucket: &s.bucket, Key: s.name(w.key), Body: bytes.NewReader(w.data),
		Metadata: map[string]string{idField: w.id},
	}
	if w.create {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = aws.String(`"` + string(w.old) + `"`)
	}
	out, err := s.client.PutObject(ctx, in, func(o *awss3.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return "", err
	}
	if rev := revision(out.ETag); rev != "" {
		return rev, nil
	}
	return "", errors.New("the answer has no ETag")
}

// object is what is stored under a key at one moment.
type object struct {
	exists   bool
	revision store.Revision
	id       string // of the write that made it
}

func (s *Store) look(ctx context.Context, key string) (object, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	out, err := s.client.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: s.name(key)})
	switch {
	case absent(err):
		return object{}, nil
	case err != nil:
		return object{}, fmt.Errorf("read back: %w", s.explain(err))
	case out.Metadata[idField] == "":
		return object{}, fmt.Errorf("read back: the object has no metadata %s: the server drops it, or another program wrote the object", idField)
	}
	return object{true, revision(out.ETag), out.Metadata[idField]}, nil
}

// changed reports whether the condition of w does not hold any more.
func (w write) changed(now object) bool {
	if w.create {
		return now.exists
	}
	return !now.exists || now.revision != w.old
}

// lostTo is the error of a write that another writer was faster than.
func (w write) lostTo(now object) error {
	switch {
	case w.create:
		return store.ErrExists
	case !now.exists:
		return store.ErrNotFound
	}
	return store.ErrConflict
}

func (w write) String() string {
	if w.create {
		return "create " + w.key
	}
	return "swap " + w.key
}
