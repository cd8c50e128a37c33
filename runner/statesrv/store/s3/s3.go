// Package s3 keeps records as objects of an S3 bucket, for several state servers
// behind one address. Start with [Parse] and [Open].
//
// A record is one object, written by one PUT: with "If-None-Match: *" to create
// it, with "If-Match" and the ETag of the value read before to swap it. Nothing is
// decided by a DELETE. A bucket that does not enforce these conditions among
// concurrent writers grants a lock twice: run store.Prove before serving, which
// goes through every endpoint of a [Store].
//
// # Lost answers
//
// Every PUT carries an id in the object's metadata, fresh for each Create and
// Swap. Whatever does not answer with success is followed by reading that id back:
// a write whose answer was lost, or that something on the way sent twice, is
// recognised as done; see [Store.Create]. The SDK's own retries are off for
// writes, because they report a write that was done as refused.
//
// # Configuration
//
// Region, endpoint, credentials, CA bundle and proxy come from the standard AWS
// environment variables and files. These are read besides:
//
//	STATESRV_S3_ENDPOINTS   URLs separated by commas, instead of AWS_ENDPOINT_URL_S3.
//	                        The first is used; the others are of the same bucket
//	                        and are used by the proof only.
//	STATESRV_S3_PATH_STYLE  true puts the bucket's name into the path, false into
//	                        the host. The default is true where an endpoint is
//	                        given, false for AWS itself.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Store is a store.Store, store.Opener, store.Placed and store.Many on a bucket. Several
// processes may use one bucket and prefix.
type Store struct {
	client   *awss3.Client
	endpoint string // for messages
	bucket   string
	prefix   string   // "" or ends with "/"
	others   []*Store // through the other endpoints
	mark     store.Mark
}

// Claim implements store.Placed.
func (s *Store) Claim(ctx context.Context) error { return s.mark.Claim(ctx, s) }

// Present implements store.Placed.
func (s *Store) Present(ctx context.Context) error { return s.mark.Present(ctx, s) }

// Endpoints implements store.Many.
func (s *Store) Endpoints() []store.Store {
	all := []store.Store{s}
	for _, other := range s.others {
		all = append(all, other)
	}
	return all
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	out, err := s.object(ctx, key)
	if err != nil {
		return store.Record{}, fmt.Errorf("get %s: %w", key, err)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	if err != nil {
		return store.Record{}, fmt.Errorf("get %s: %w", key, err)
	}
	return store.Record{Data: data, Revision: revision(out.ETag)}, nil
}

// Open implements store.Opener.
func (s *Store) Open(ctx context.Context, key string) (store.Body, error) {
	out, err := s.object(ctx, key)
	if err != nil {
		return store.Body{}, fmt.Errorf("open %s: %w", key, err)
	}
	if out.ContentLength == nil {
		out.Body.Close()
		return store.Body{}, fmt.Errorf("open %s: the server does not tell its length", key)
	}
	return store.Body{ReadCloser: out.Body, Size: *out.ContentLength}, nil
}

func (s *Store) object(ctx context.Context, key string) (*awss3.GetObjectOutput, error) {
	if err := store.Check(ctx, key); err != nil {
		return nil, err
	}
	out, err := s.client.GetObject(ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: s.name(key)})
	switch {
	case absent(err):
		return nil, store.ErrNotFound
	case err != nil:
		return nil, s.explain(err)
	case revision(out.ETag) == "":
		out.Body.Close()
		return nil, errors.New("the server gives no ETag, without which nothing can be swapped")
	}
	return out, nil
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, key string) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	_, err := s.client.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: s.name(key)})
	if err != nil && !absent(err) {
		return fmt.Errorf("remove %s: %w", key, s.explain(err))
	}
	return nil
}

// name returns the name of a key's object.
func (s *Store) name(key string) *string { return aws.String(s.prefix + key) }
