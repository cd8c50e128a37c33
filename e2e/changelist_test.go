package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

const jobUID = "0e2b7a51-6d0e-4d2a-91a8-1d4f0e6a5b11"

// Each run of a Job leaves a list of what it is going to change, beside that of an earlier pod of the Job. One that
// changes nothing leaves none.
func TestChangeListInCluster(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, k := clusterFixture(t, runtime)
		flags := []string{"--job-name", "the-job", "--job-uid", jobUID}
		f.slow(t, "1s", true)
		f.must(t, 0, "refresh", flags...)
		f.must(t, 0, "apply", flags...)
		f.must(t, 0, "apply", flags...)
		f.must(t, 0, "destroy", flags...)
		want := map[string]string{
			"the-job-changes":  "create probe_file.first, create probe_file.second[0]",
			"the-job-changes-": "delete probe_file.first, delete probe_file.second[0]",
		}
		if diff := cmp.Diff(want, k.changeLists(t)); diff != "" {
			t.Errorf("lists of changes (-want +got):\n%s", diff)
		}
	})
}

// changeLists are those in ConfigMaps, by their names without what the server adds.
func (k *kubernetes) changeLists(t *testing.T) map[string]string {
	t.Helper()
	maps, err := k.server.Clientset().CoreV1().ConfigMaps(k.object.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]string{}
	for _, cm := range maps.Items {
		if text, ok := cm.Data["changes.json"]; ok {
			lists[writtenName(cm)] = changesIn(t, text)
		}
		if len(cm.OwnerReferences) == 1 && cm.OwnerReferences[0].UID != jobUID {
			t.Errorf("owner of %s: %+v", cm.Name, cm.OwnerReferences)
		}
	}
	return lists
}

func writtenName(cm corev1.ConfigMap) string {
	if cm.GenerateName != "" {
		return cm.GenerateName
	}
	return cm.Name
}

func changesIn(t *testing.T, text string) string {
	t.Helper()
	var list result.ChangeList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	var changes []string
	for _, c := range list.Resources {
		changes = append(changes, c.Action+" "+c.Address)
	}
	return strings.Join(changes, ", ")
}

// manyFiles is more than a result names. Its last block is open for more arguments.
const manyFiles = `terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
variable "files" { type = string }
resource "probe_file" "this_one_has_quite_a_long_name" {
  count = 120
  path  = "${var.files}/${count.index}"
`

const manyAndSlow = manyFiles + `}
resource "probe_file" "first" {
  path    = "${var.files}/first"
  content = length(probe_file.this_one_has_quite_a_long_name)
  delay   = "SLOW"
}`

// A local run that is killed leaves the list beside its result. One that ends well leaves neither list nor
// anything else there.
func TestChangeListOfLocalRun(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newLocal)
		f.write(t, "main.tf", strings.ReplaceAll(manyAndSlow, "SLOW", "10m"))
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		l.await(t, "the result names the list", func() bool {
			res := l.partial()
			return res != nil && res.Unsaved != nil && res.Unsaved.Count == 121 && res.Unsaved.Planned != ""
		})
		if err := l.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-l.ended
		until(t, "its child has ended", func() bool { return len(processesIn(f.dir)) == 0 })
		o := l.outcome(t)
		if text := f.text(t, o.result.Unsaved.Planned); strings.Count(changesIn(t, text), "create probe_file.") != 121 {
			t.Errorf("the list is %s", text)
		}
		results := filepath.Dir(o.result.Unsaved.Planned)
		if err := os.RemoveAll(results); err != nil {
			t.Fatal(err)
		}
		f.write(t, "main.tf", strings.ReplaceAll(manyAndSlow, "SLOW", "1s"))
		f.must(t, 0, "apply")
		if left, err := os.ReadDir(results); err != nil || len(left) != 0 {
			t.Errorf("%s has %v, %v", results, left, err)
		}
	})
}

func (f *fixture) text(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
