// Package docs holds the documentation. Its tests have every piece of Go in it compile, and run where it can.
package docs

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/metrics"
)

// TestGoIsQuoted wants every Go block of the documentation to stand in a test or an example, line by line: so it
// compiles, and what it uses is what there is.
func TestGoIsQuoted(t *testing.T) {
	root := tools.Root(t)
	var tests []string
	for _, dir := range []string{"docs", "runner"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, "_test.go") {
				tests = append(tests, lines(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		for _, block := range blocks(lines(t, page)) {
			found++
			if !contains(tests, block) {
				t.Errorf("%s: no test has this:\n%s", filepath.Base(page), block)
			}
		}
	}
	if found == 0 {
		t.Error("no Go was found")
	}
}

// TestExamplesStandAlone wants examples that a reader can copy: nothing in their files is out of reach.
func TestExamplesStandAlone(t *testing.T) {
	root := tools.Root(t)
	found := 0
	err := filepath.WalkDir(filepath.Join(root, "runner"), func(path string, _ fs.DirEntry, err error) error {
		if !strings.HasSuffix(path, "example_test.go") {
			return err
		}
		found++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if strings.Contains(spec.Path.Value, "/internal/") || !strings.HasSuffix(file.Name.Name, "_test") {
				t.Errorf("%s, package %s, imports %s", path, file.Name, spec.Path.Value)
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d examples, error %v", found, err)
	}
}

// lines is a file without indentation.
func lines(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		fmt.Fprintln(&b, strings.TrimSpace(line))
	}
	return b.String()
}

// blocks are the Go blocks of a page.
func blocks(page string) (all []string) {
	for _, rest := range strings.Split(page, "```go\n")[1:] {
		block, _, _ := strings.Cut(rest, "```\n")
		all = append(all, block)
	}
	return all
}

func contains(tests []string, block string) bool {
	for _, text := range tests {
		if strings.Contains(text, "\n"+block) {
			return true
		}
	}
	return false
}

// reconcile is quoted in launch.md.
func reconcile(ctx context.Context, clientset kubernetes.Interface, namespace string, object launch.Object) (launch.Report, error) {
	counted := metrics.New() // a prometheus.Collector: register it
	launcher := &launch.Launcher{Clients: launch.NewClients(clientset, namespace), Metrics: counted}
	report, err := launcher.Pass(ctx, object)
	// err: try again with your own backoff. report.Condition goes on the object. report.Gone: the finalizer may go.
	// report.Again: reconcile at once. report.After: look again then. Watch Jobs and pods, to be faster.
	return report, err
}

var _ = reconcile
