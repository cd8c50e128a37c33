package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Options say which bucket to use, and what the standard AWS configuration does
// not say of it.
type Options struct {
	Bucket string
	// Prefix is what all objects' names start with, without a slash at its end;
	// "" means the whole bucket.
	Prefix string
	// Endpoints are the URLs of the servers that serve this bucket; empty means
	// what the AWS configuration says. The first is used, and all are proven.
	Endpoints []string
	// PathStyle puts the bucket's name into the path instead of the host; nil means
	// true where an endpoint is given, false for AWS itself.
	PathStyle *bool
}

// The environment variables that Parse reads.
const (
	endpointsVar = "STATESRV_S3_ENDPOINTS"
	pathStyleVar = "STATESRV_S3_PATH_STYLE"
)

var bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Parse reads an address, s3://BUCKET or s3://BUCKET/PREFIX, and this package's
// own environment variables.
func Parse(address string, getenv func(string) string) (Options, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return Options{}, errors.New("the address of an S3 store is no URL; want s3://BUCKET/PREFIX")
	case u.User != nil:
		return Options{}, errors.New("the address of an S3 store has credentials in it: give them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, where other processes do not see them")
	case u.Scheme != "s3" || u.RawQuery != "" || u.Fragment != "":
		return Options{}, fmt.Errorf("%s: want s3://BUCKET/PREFIX", address)
	case !bucketPattern.MatchString(u.Host):
		return Options{}, fmt.Errorf("%s: %q cannot be a bucket's name; want s3://BUCKET/PREFIX", address, u.Host)
	}
	o := Options{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	if o.Prefix != "" && store.CheckKey(o.Prefix) != nil {
		return Options{}, fmt.Errorf("%s: the prefix may have letters, digits, dots, dashes and underscores between its slashes", address)
	}
	return o, o.environment(getenv)
}

func (o *Options) environment(getenv func(string) string) error {
	for text := range strings.SplitSeq(getenv(endpointsVar), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return fmt.Errorf("%s: each endpoint is http://HOST:PORT or https://HOST, without credentials", endpointsVar)
		}
		o.Endpoints = append(o.Endpoints, text)
	}
	if getenv(endpointsVar) != "" && len(o.Endpoints) == 0 {
		return fmt.Errorf("%s: it names no endpoint", endpointsVar)
	}
	if text := getenv(pathStyleVar); text != "" {
		style, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%s=%s: want true or false", pathStyleVar, text)
		}
		o.PathStyle = &style
	}
	return nil
}

// answerTime is how long a server may take to answer a request that it has received. A read is not sent again then, for
// whoever waits for it has a limit too.
const answerTime = 20 * time.Second

// Open reads the AWS configuration. It sends no request to the bucket.
func Open(ctx context.Context, opts Options) (*Store, error) {
	return openWithin(ctx, opts, answerTime)
}

func openWithin(ctx context.Context, opts Options, answer time.Duration) (*Store, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(httpClient(answer)))
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	prefix := opts.Prefix
	if prefix != "" {
		prefix += "/"
	}
	endpoints := opts.Endpoints
	if len(endpoints) == 0 {
		endpoints = []string{""}
	}
	var all []*Store
	for _, endpoint := range endpoints {
		client := newClient(cfg, endpoint, opts.PathStyle)
		if client.Options().Region == "" {
			return nil, errors.New("no region for the bucket: set AWS_REGION")
		}
		all = append(all, &Store{client: client, endpoint: endpointOf(client), bucket: opts.Bucket, prefix: prefix})
	}
	all[0].others = all[1:]
	return all[0], nil
}

func endpointOf(client *awss3.Client) string {
	if base := client.Options().BaseEndpoint; base != nil {
		return *base
	}
	return "AWS in " + client.Options().Region
}

// newClient uses only what servers of other vendors than AWS understand: no
// checksums beyond the signature's.
func newClient(cfg aws.Config, endpoint string, pathStyle *bool) *awss3.Client {
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.Retryables = slices.Insert(o.Retryables, 0, retry.IsErrorRetryable(retry.IsErrorRetryableFunc(notTimeouts)))
		})
	}
	return awss3.NewFromConfig(cfg, func(o *awss3.Options) {
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
		elsewhere := o.BaseEndpoint != nil
		if o.Region == "" && elsewhere {
			o.Region = "us-east-1" // only part of the signature there
		}
		o.UsePathStyle = elsewhere
		if pathStyle != nil {
			o.UsePathStyle = *pathStyle
		}
	})
}

// notTimeouts keeps the SDK from waiting as long once more.
func notTimeouts(err error) aws.Ternary {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}

// httpClient keeps a connection for each of many writers, and gives up on a server
// that takes a request and does not answer. How long a body may take is for the
// caller's context to say.
func httpClient(answer time.Duration) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 64
		t.ResponseHeaderTimeout = answer
	}).WithDialerOptions(func(d *net.Dialer) {
		d.Timeout = min(d.Timeout, answer)
	})
}
