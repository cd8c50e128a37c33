package s3

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// List implements store.Store.
func (s *Store) List(ctx context.Context, dir string) iter.Seq2[string, error] {
	return s.ListAfter(ctx, dir, "")
}

// ListAfter implements store.Seeker.
func (s *Store) ListAfter(ctx context.Context, dir, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		names, err := s.names(ctx, dir, after)
		if err != nil {
			yield("", fmt.Errorf("list %q: %w", dir, err))
			return
		}
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// names reads all pages before it sorts: the server orders "a-b" before "a/", the
// store "a" before "a-b".
func (s *Store) names(ctx context.Context, dir, after string) ([]string, error) {
	prefix := s.prefix
	if dir != "" {
		if err := store.CheckKey(dir); err != nil {
			return nil, err
		}
		prefix += dir + "/"
	}
	in := &awss3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, Delimiter: aws.String("/")}
	if after != "" {
		in.StartAfter = aws.String(prefix + after)
	}
	var names []string
	pages := awss3.NewListObjectsV2Paginator(s.client, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.explain(err)
		}
		for _, object := range page.Contents {
			names = append(names, strings.TrimPrefix(*object.Key, prefix))
		}
		for _, dir := range page.CommonPrefixes {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(*dir.Prefix, prefix), "/"))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return name <= after || store.CheckKey(name) != nil // the latter was put there by others
	})
	slices.Sort(names)
	return slices.Compact(names), nil
}
