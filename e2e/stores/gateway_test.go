package stores

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/s3test"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/s3"
	"github.com/captf/captf-runner/runner/statesrv/store/storetest"
)

const bucket = "states"

// credentials are the environment of whoever talks to a gateway, and nothing of
// the machine's own AWS configuration.
var credentials = []string{
	"AWS_ACCESS_KEY_ID=" + s3test.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s3test.SecretKey, "AWS_SESSION_TOKEN=",
	"AWS_REGION=us-east-1", "AWS_PROFILE=", "AWS_ENDPOINT_URL=", "AWS_ENDPOINT_URL_S3=", "AWS_EC2_METADATA_DISABLED=true",
	"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
}

func TestMain(m *testing.M) {
	for _, pair := range credentials {
		name, value, _ := strings.Cut(pair, "=")
		os.Setenv(name, value)
	}
	os.Exit(kubetest.Run(m))
}

// startGateways starts n S3 gateways on one directory, with a bucket, and returns
// their URLs.
func startGateways(t *testing.T, n int) []string {
	t.Helper()
	dir := t.TempDir()
	var urls []string
	for range n {
		url := s3test.Start(t, dir)
		if err := makeBucket(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, url)
	}
	return urls
}

func gatewayClient(ctx context.Context, url string) (*awss3.Client, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return awss3.NewFromConfig(cfg, func(o *awss3.Options) {
		o.BaseEndpoint, o.UsePathStyle, o.Retryer = &url, true, aws.NopRetryer{}
	}), nil
}

// makeBucket makes the bucket if there is none.
func makeBucket(ctx context.Context, url string) error {
	client, err := gatewayClient(ctx, url)
	if err != nil {
		return err
	}
	if _, err := client.HeadBucket(ctx, &awss3.HeadBucketInput{Bucket: aws.String(bucket)}); err == nil {
		return nil
	}
	_, err = client.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String(bucket)})
	return err
}

func TestConformance(t *testing.T) {
	for name, n := range map[string]int{"OneGateway": 1, "TwoGatewaysOnOneDirectory": 2} {
		t.Run(name, func(t *testing.T) {
			urls := startGateways(t, n)
			var places atomic.Int32
			storetest.Run(t, func(t *testing.T) func() store.Store {
				prefix := "place-" + strconv.Itoa(int(places.Add(1)))
				var handles int
				return func() store.Store { // each handle enters by another gateway
					first := handles % n
					handles++
					endpoints := append(urls[first:n:n], urls[:first]...)
					s, err := s3.Open(t.Context(), s3.Options{Bucket: bucket, Prefix: prefix, Endpoints: endpoints})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
			})
		})
	}
}
