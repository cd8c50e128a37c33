package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/settle"
)

// idField is the metadata field with the id of the write that made an object.
const idField = "statesrv-write"

// Create implements store.Store. Package settle says what becomes of answers that
// are lost.
func (s *Store) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if err := store.Check(ctx, key); err != nil {
		return "", err
	}
	return settle.Do(ctx, server{s}, settle.Create(key, data))
}

// Swap implements store.Store; see Create for lost answers.
func (s *Store) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	if err := store.Check(ctx, key); err != nil {
		return "", err
	}
	w := settle.Swap(key, old, data)
	if old == "" { // some servers take an empty ETag for no condition at all
		return settle.Refuse(ctx, server{s}, w)
	}
	return settle.Do(ctx, server{s}, w)
}

// server is the bucket as package settle sees it.
type server struct{ *Store }

// Put implements settle.Server.
func (s server) Put(ctx context.Context, w settle.Write) (store.Revision, error) {
	in := &awss3.PutObjectInput{
		Bucket: &s.bucket, Key: s.name(w.Key), Body: bytes.NewReader(w.Data),
		Metadata: map[string]string{idField: w.ID},
	}
	if w.Create {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = aws.String(`"` + string(w.Old) + `"`)
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

// Look implements settle.Server.
func (s server) Look(ctx context.Context, key string) (settle.Object, error) {
	out, err := s.client.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: s.name(key)})
	switch {
	case absent(err):
		return settle.Object{}, nil
	case err != nil:
		return settle.Object{}, err
	case out.Metadata[idField] == "":
		return settle.Object{}, fmt.Errorf("the object has no metadata %s: the server drops it, or another program wrote the object", idField)
	}
	return settle.Object{Exists: true, Revision: revision(out.ETag), ID: out.Metadata[idField]}, nil
}

// AnswerOf implements settle.Server.
func (s server) AnswerOf(err error) settle.Answer { return answerOf(err) }

// Explain implements settle.Server.
func (s server) Explain(err error) error { return s.explain(err) }
