package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/settle"
)

// answerOf says what the error of a conditional PUT means.
func answerOf(err error) settle.Answer {
	status, code := statusOf(err), codeOf(err)
	switch {
	case status == http.StatusPreconditionFailed, status == http.StatusConflict:
		return settle.Refused // 409: another writer was at it at the same moment
	case status == http.StatusNotFound && code != noBucket:
		return settle.Refused // some answer so to If-Match where there is nothing
	case code == notImplemented, status == http.StatusNotImplemented:
		return settle.Never
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return settle.Unclear
	case status >= 400 && status < 500:
		return settle.Never
	}
	return settle.Unclear
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

// explain adds the bucket and its endpoint, and the way out of errors that a person has to see to.
func (s *Store) explain(err error) error {
	where := fmt.Sprintf("bucket %s at %s", s.bucket, s.endpoint)
	switch code, status := codeOf(err), statusOf(err); {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case code == notImplemented, status == http.StatusNotImplemented:
		return fmt.Errorf("%w: the server of %s says that it does not know them; take another store: %w",
			store.ErrUnproven, where, err)
	case code == noBucket:
		return fmt.Errorf("there is no %s: make it, or see AWS_ENDPOINT_URL_S3 and AWS_REGION: %w", where, err)
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return fmt.Errorf("no access to %s: see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the bucket's policy: %w",
			where, err)
	case status == 0:
		return s.unanswered(where, err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// unanswered tells a server that does not answer from a request that could not be sent.
func (s *Store) unanswered(where string, err error) error {
	if sent := new(smithyhttp.RequestSendError); errors.As(err, &sent) {
		err = sent.Err // all around it is about an answer that there is not
	} else if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no request about %s could be made: see whether there are credentials, as AWS_ACCESS_KEY_ID: %w",
			where, err)
	}
	return fmt.Errorf("no answer about %s: see whether its server is up, which AWS_ENDPOINT_URL_S3, STATESRV_S3_ENDPOINTS "+
		"or AWS_REGION names: %w", where, err)
}

// revision makes a revision of an ETag, which some servers give without quotes.
func revision(etag *string) store.Revision {
	if etag == nil {
		return ""
	}
	return store.Revision(strings.Trim(*etag, `"`))
}
