package s3

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func environment(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestParse(t *testing.T) {
	yes, no := true, false
	for address, c := range map[string]struct {
		env  map[string]string
		want Options
	}{
		"s3://states":            {nil, Options{Bucket: "states"}},
		"s3://states/":           {nil, Options{Bucket: "states"}},
		"s3://my.states-2/a/b_c": {nil, Options{Bucket: "my.states-2", Prefix: "a/b_c"}},
		"s3://states/a/": {map[string]string{endpointsVar: "http://a:1, https://b/s3 ,", pathStyleVar: "false"},
			Options{Bucket: "states", Prefix: "a", Endpoints: []string{"http://a:1", "https://b/s3"}, PathStyle: &no}},
		"s3://states/b": {map[string]string{pathStyleVar: "true"}, Options{Bucket: "states", Prefix: "b", PathStyle: &yes}},
	} {
		got, err := Parse(address, environment(c.env))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, (-want +got)\n%s", address, err, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ address, endpoints, pathStyle, says string }{
		{"s3://", "", "", "cannot be a bucket's name"},
		{"s3:bucket", "", "", "cannot be a bucket's name"},
		{"s3://ab", "", "", "cannot be a bucket's name"},
		{"s3://Upper", "", "", "cannot be a bucket's name"},
		{"s3://bucket:80", "", "", "cannot be a bucket's name"},
		{"s3://bucket/a b", "", "", "the prefix may have"},
		{"s3://bucket/../x", "", "", "the prefix may have"},
		{"s3://bucket?x=y", "", "", "want s3://BUCKET/PREFIX"},
		{"https://bucket", "", "", "want s3://BUCKET/PREFIX"},
		{"s3://bucket/%zz", "", "", "no URL"},
		{"s3://me:hidden@bucket", "", "", "AWS_SECRET_ACCESS_KEY"},
		{"s3://bucket", "127.0.0.1:9000", "", "STATESRV_S3_ENDPOINTS: each endpoint is http://HOST:PORT"},
		{"s3://bucket", ",", "", "STATESRV_S3_ENDPOINTS: it names no endpoint"},
		{"s3://bucket", "http://me:hidden@host", "", "without credentials"},
		{"s3://bucket", "", "perhaps", "STATESRV_S3_PATH_STYLE=perhaps"},
	} {
		_, err := Parse(c.address, environment(map[string]string{endpointsVar: c.endpoints, pathStyleVar: c.pathStyle}))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s %s%s: error %v, want one that says %q and no password", c.address, c.endpoints, c.pathStyle, err, c.says)
		}
	}
}

func TestOpenReadsTheStandardConfiguration(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		env       map[string]string
		opts      Options
		region    string
		endpoint  string
		pathStyle bool
	}{
		"AWS":          {map[string]string{"AWS_REGION": "eu-central-1"}, Options{}, "eu-central-1", "", false},
		"endpoint":     {map[string]string{"AWS_ENDPOINT_URL_S3": "http://a"}, Options{}, "us-east-1", "http://a", true},
		"both":         {map[string]string{"AWS_ENDPOINT_URL": "http://a", "AWS_REGION": "x"}, Options{}, "x", "http://a", true},
		"own endpoint": {map[string]string{"AWS_ENDPOINT_URL": "http://a"}, Options{Endpoints: []string{"http://b"}}, "us-east-1", "http://b", true},
		"virtual host": {nil, Options{Endpoints: []string{"http://b"}, PathStyle: &no}, "us-east-1", "http://b", false},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			got := open(t, c.opts).client.Options()
			endpoint := ""
			if got.BaseEndpoint != nil {
				endpoint = *got.BaseEndpoint
			}
			if got.Region != c.region || endpoint != c.endpoint || got.UsePathStyle != c.pathStyle {
				t.Errorf("region %q, endpoint %q, path style %v; want %q, %q, %v",
					got.Region, endpoint, got.UsePathStyle, c.region, c.endpoint, c.pathStyle)
			}
		})
	}
	if _, err := Open(t.Context(), Options{Bucket: "bucket"}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: error %v, want one that names AWS_REGION", err)
	}
}
