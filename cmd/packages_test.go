// Package cmd holds the commands. Its tests bound what each of them links.
package cmd

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the lists of linked packages")

// command is what one binary may be made of.
type command struct {
	name    string
	modules []string // all that are linked, besides this one
	never   []string // packages, with everything below them
}

const ours = "github.com/captf/captf-runner"

var commands = []command{
	{
		name: "captf-runner",
		modules: []string{
			// what the project chose
			"github.com/cenkalti/backoff/v4",
			"github.com/hashicorp/go-version",
			"github.com/hashicorp/hcl/v2",
			"github.com/hashicorp/terraform-exec",
			"github.com/hashicorp/terraform-json",
			"golang.org/x/sys",
			"golang.org/x/term",
			"k8s.io/api",
			"k8s.io/apimachinery",
			"k8s.io/client-go",
			// what hcl brings
			"github.com/agext/levenshtein",
			"github.com/apparentlymart/go-textseg/v15",
			"github.com/mitchellh/go-wordwrap",
			"github.com/zclconf/go-cty",
			// what client-go brings
			"github.com/davecgh/go-spew",
			"github.com/fxamacker/cbor/v2",
			"github.com/go-logr/logr",
			"github.com/json-iterator/go",
			"github.com/modern-go/concurrent",
			"github.com/modern-go/reflect2",
			"github.com/munnerz/goautoneg",
			"github.com/spf13/pflag",
			"github.com/x448/float16",
			"go.yaml.in/yaml/v2",
			"golang.org/x/net",
			"golang.org/x/oauth2",
			"golang.org/x/text",
			"golang.org/x/time",
			"gopkg.in/inf.v0",
			"k8s.io/klog/v2",
			"k8s.io/kube-openapi",
			"k8s.io/utils",
			"sigs.k8s.io/json",
			"sigs.k8s.io/randfill",
			"sigs.k8s.io/structured-merge-diff/v6",
			"sigs.k8s.io/yaml",
		},
		never: []string{
			"k8s.io/api/core",             // 3 MB
			"k8s.io/client-go/kubernetes", // 13 MB
			ours + "/runner/launch",       // the controller's half
			"net/http/pprof", "expvar",    // they open a server to whoever links them
			"testing",
		},
	},
	{
		name: "statesrv",
		modules: []string{
			"golang.org/x/crypto",
			"golang.org/x/sys",
			"golang.org/x/term",
			// what the metrics bring
			"github.com/beorn7/perks",
			"github.com/cespare/xxhash/v2",
			"github.com/munnerz/goautoneg",
			"github.com/prometheus/client_golang",
			"github.com/prometheus/client_model",
			"github.com/prometheus/common",
			"github.com/prometheus/procfs",
			"google.golang.org/protobuf",
			// what explain brings
			"github.com/apparentlymart/go-textseg/v15",
			"github.com/zclconf/go-cty",
			"golang.org/x/text",
			// what the Kubernetes store brings
			"github.com/davecgh/go-spew",
			"github.com/fxamacker/cbor/v2",
			"github.com/go-logr/logr",
			"github.com/json-iterator/go",
			"github.com/modern-go/concurrent",
			"github.com/modern-go/reflect2",
			"github.com/spf13/pflag",
			"github.com/x448/float16",
			"go.yaml.in/yaml/v2",
			"golang.org/x/net",
			"golang.org/x/oauth2",
			"golang.org/x/time",
			"gopkg.in/inf.v0",
			"k8s.io/api",
			"k8s.io/apimachinery",
			"k8s.io/client-go",
			"k8s.io/klog/v2",
			"k8s.io/kube-openapi",
			"k8s.io/utils",
			"sigs.k8s.io/json",
			"sigs.k8s.io/randfill",
			"sigs.k8s.io/structured-merge-diff/v6",
			"sigs.k8s.io/yaml",
			// what the S3 store brings
			"github.com/aws/aws-sdk-go-v2",
			"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream",
			"github.com/aws/aws-sdk-go-v2/config",
			"github.com/aws/aws-sdk-go-v2/credentials",
			"github.com/aws/aws-sdk-go-v2/feature/ec2/imds",
			"github.com/aws/aws-sdk-go-v2/internal/configsources",
			"github.com/aws/aws-sdk-go-v2/internal/endpoints/v2",
			"github.com/aws/aws-sdk-go-v2/internal/v4a",
			"github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding",
			"github.com/aws/aws-sdk-go-v2/service/internal/checksum",
			"github.com/aws/aws-sdk-go-v2/service/internal/presigned-url",
			"github.com/aws/aws-sdk-go-v2/service/internal/s3shared",
			"github.com/aws/aws-sdk-go-v2/service/s3",
			"github.com/aws/aws-sdk-go-v2/service/signin",
			"github.com/aws/aws-sdk-go-v2/service/sso",
			"github.com/aws/aws-sdk-go-v2/service/ssooidc",
			"github.com/aws/aws-sdk-go-v2/service/sts",
			"github.com/aws/smithy-go",
		},
		// The metrics library brings expvar. That opens only http.DefaultServeMux, which nothing serves.
		never: []string{
			"k8s.io/api/core", "k8s.io/client-go/kubernetes",
			ours + "/runner/runtime", "net/http/pprof", "testing",
		},
	},
	{
		name: "captf",
		modules: []string{
			"github.com/cenkalti/backoff/v4",
			"github.com/google/go-containerregistry",
			"github.com/hashicorp/go-version",
			"github.com/spf13/cobra",
			"github.com/spf13/pflag",
			"golang.org/x/sys",
			"golang.org/x/term",
			"k8s.io/api",
			"k8s.io/apimachinery",
			"k8s.io/client-go",
			"sigs.k8s.io/yaml",
			// what go-containerregistry brings
			"github.com/docker/cli",
			"github.com/docker/docker-credential-helpers",
			"github.com/klauspost/compress",
			"github.com/opencontainers/go-digest",
			"github.com/opencontainers/image-spec",
			"github.com/sirupsen/logrus",
			"golang.org/x/sync",
			// what package redact brings
			"github.com/agext/levenshtein",
			"github.com/apparentlymart/go-textseg/v15",
			"github.com/hashicorp/hcl/v2",
			"github.com/mitchellh/go-wordwrap",
			"github.com/zclconf/go-cty",
			// what client-go and cobra bring
			"github.com/davecgh/go-spew",
			"github.com/emicklei/go-restful/v3",
			"github.com/fxamacker/cbor/v2",
			"github.com/go-logr/logr",
			"github.com/go-openapi/jsonpointer",
			"github.com/go-openapi/jsonreference",
			"github.com/go-openapi/swag",
			"github.com/go-openapi/swag/cmdutils",
			"github.com/go-openapi/swag/conv",
			"github.com/go-openapi/swag/fileutils",
			"github.com/go-openapi/swag/jsonutils",
			"github.com/go-openapi/swag/loading",
			"github.com/go-openapi/swag/mangling",
			"github.com/go-openapi/swag/netutils",
			"github.com/go-openapi/swag/pools",
			"github.com/go-openapi/swag/stringutils",
			"github.com/go-openapi/swag/typeutils",
			"github.com/go-openapi/swag/yamlutils",
			"github.com/google/gnostic-models",
			"github.com/google/uuid",
			"github.com/json-iterator/go",
			"github.com/modern-go/concurrent",
			"github.com/modern-go/reflect2",
			"github.com/munnerz/goautoneg",
			"github.com/x448/float16",
			"go.yaml.in/yaml/v2",
			"go.yaml.in/yaml/v3",
			"golang.org/x/net",
			"golang.org/x/oauth2",
			"golang.org/x/text",
			"golang.org/x/time",
			"google.golang.org/protobuf",
			"gopkg.in/evanphx/json-patch.v4",
			"gopkg.in/inf.v0",
			"k8s.io/klog/v2",
			"k8s.io/kube-openapi",
			"k8s.io/utils",
			"sigs.k8s.io/json",
			"sigs.k8s.io/randfill",
			"sigs.k8s.io/structured-merge-diff/v6",
		},
		never: []string{
			"k8s.io/cli-runtime", "sigs.k8s.io/kustomize", // 37 MB, for flags that clientcmd has
			ours + "/runner/runtime",
			"net/http/pprof", "expvar", "testing",
		},
	},
}

func TestLinkedPackages(t *testing.T) {
	for _, c := range commands {
		t.Run(c.name, func(t *testing.T) {
			all := linked(t, c.name)
			c.checkModules(t, all)
			c.checkNever(t, all)
			c.checkList(t, all)
		})
	}
}

// linkedPackage is a package in a binary. Those of the standard library have no module.
type linkedPackage struct{ path, module string }

// linked lists the packages of a release, whatever machine the test runs on.
func linked(t *testing.T, name string) []linkedPackage {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}} {{.Dir}}", "./"+name)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []linkedPackage
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		p := linkedPackage{path: fields[0], module: fields[1]}
		if p.module == ours {
			dependOn(t, fields[2])
		}
		all = append(all, p)
	}
	return all
}

// dependOn makes the go command run this test again, instead of reporting its last result, when a file in
// the folder has changed: it watches what the test itself looks at, not what a child does.
func dependOn(t *testing.T, dir string) {
	if _, err := os.ReadDir(dir); err != nil {
		t.Fatal(err)
	}
}

// checkModules compares the modules that are linked with those that may be.
func (c command) checkModules(t *testing.T, all []linkedPackage) {
	t.Helper()
	var got []string
	for _, p := range all {
		if p.module != "" && p.module != ours {
			got = append(got, p.module)
		}
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(c.modules))
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("modules in %s (-allowed +linked):\n%s", c.name, diff)
	}
}

func (c command) checkNever(t *testing.T, all []linkedPackage) {
	t.Helper()
	for _, p := range all {
		for _, never := range c.never {
			if strings.HasPrefix(p.path+"/", never+"/") {
				t.Errorf("%s links %s, which it must never: see the comment beside it", c.name, p.path)
			}
		}
	}
}

// checkList compares the packages with packages.txt: what a change brings into the binary is seen in its review.
func (c command) checkList(t *testing.T, all []linkedPackage) {
	t.Helper()
	var paths []string
	for _, p := range all {
		if p.module != "" {
			paths = append(paths, p.path)
		}
	}
	slices.Sort(paths)
	got := strings.Join(paths, "\n") + "\n"
	file := filepath.Join(c.name, "packages.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("cmd/%s is not what is linked; if that is meant, run go test ./cmd -update (-file +linked):\n%s", file, diff)
	}
}
