//go:build e2e

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/captf/captf-runner/internal/tools"
)

// deploy is the path of a manifest.
func deploy(tb testing.TB, elem ...string) string {
	return filepath.Join(append([]string{tools.Root(tb), "deploy"}, elem...)...)
}

// exampleJob reads the Job of deploy/examples for an operation.
func exampleJob(tb testing.TB, op string) *batchv1.Job {
	tb.Helper()
	job := &batchv1.Job{}
	readExample(tb, op, job)
	return job
}

// readExample reads a file of deploy/examples.
func readExample(tb testing.TB, name string, into any) {
	tb.Helper()
	text, err := os.ReadFile(deploy(tb, "examples", name+".yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
}

// setFlag gives the runner of a Job a flag, in place of the one of the same name (and, for a backend setting,
// of the same key).
func setFlag(job *batchv1.Job, flag string) {
	args := &job.Spec.Template.Spec.Containers[0].Args
	key := flag[:strings.LastIndex(flag[:strings.Index(flag+"{", "{")], "=")+1]
	for i, arg := range *args {
		if strings.HasPrefix(arg, key) {
			(*args)[i] = flag
			return
		}
	}
	*args = append(*args, flag)
}
