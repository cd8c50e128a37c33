package s3

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// answer is what the error of a conditional PUT says of its outcome.
type answer int

const (
	unclear answer = iota // it may have been done, or be done yet
	refused               // its condition does not hold
	never                 // it was not done, and the same request never will be
)

func answerOf(err error) answer {
	status, code := statusOf(err), codeOf(err)
	switch {
	case status == http.StatusPreconditionFailed, status == http.StatusConflict:
		return refused // 409: another writer was at it at the same moment
	case status == http.StatusNotFound && code != noBucket:
		return refused // some answer so to If-Match where there is nothing
	case code == notImplemented, status == http.StatusNotImplemented:
		return never
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return unclear
	case status >= 400 && status < 500:
		return never
	}
	return unclear
}

// The codes of errors that need more than their status.
const (
	noBucket       = "NoSuchBucket"
	notImplemented = "NotImplemented"
)

// statusOf returns the status of the server's answer, 0 if there was none.
func statusOf(err error) int {
	var resp *awshttp.ResponseError
	if errors.As(err, &resp) {
		return resp.HTTPStatusCode()
	}
	return 0
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// absent reports whether the server says that there is no such object.
func absent(err error) bool {
	return statusOf(err) == http.StatusNotFound && codeOf(err) != noBucket
}

// explain adds the way out to errors that a person has to see to.
func (s *Store) explain(err error) error {
	switch code, status := codeOf(err), statusOf(err); {
	case err == nil:
		return nil
	case code == notImplemented, status == http.StatusNotImplemented:
		return fmt.Errorf("%w: the server of bucket %s says that it does not know them; take another store: %w", store.ErrUnproven, s.bucket, err)
	case code == noBucket:
		return fmt.Errorf("there is no bucket %s at this endpoint: make it, or see AWS_ENDPOINT_URL_S3 and AWS_REGION: %w", s.bucket, err)
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return fmt.Errorf("no access to bucket %s: see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the bucket's policy: %w", s.bucket, err)
	}
	return err
}

// revision makes a revision of an ETag, which some servers give without quotes.
func revision(etag *string) store.Revision {
	if etag == nil {
		return ""
	}
	return store.Revision(strings.Trim(*etag, `"`))
}
