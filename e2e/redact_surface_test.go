package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// aboutConfigMap makes an object to send events about.
func (k *kubernetes) aboutConfigMap(t *testing.T) string {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "the-object"}}
	object, err := k.server.Clientset().CoreV1().ConfigMaps(k.object.Namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("v1/ConfigMap/%s/%s/%s", object.Namespace, object.Name, object.UID)
}

// surfaces is everything that a run has let out of itself, by where it is.
func surfaces(t *testing.T, f *fixture, k *kubernetes, o outcome, calls *recorder) map[string]string {
	t.Helper()
	all := map[string]string{"stdout": o.stdout, "stderr": o.stderr, "result": o.raw, "events": "", "arguments": ""}
	client := k.server.Clientset().CoreV1()
	events, err := client.Events(k.object.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		all["events"] += e.Reason + " " + e.Message + "\n"
	}
	maps, err := client.ConfigMaps(k.object.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range maps.Items {
		all["ConfigMap "+m.Name] = fmt.Sprint(m.Data, m.Annotations, m.Labels)
	}
	for _, c := range calls.calls(t) {
		all["arguments"] += strings.Join(c.args, " ") + "\n"
	}
	if all["events"] == "" || all["arguments"] == "" {
		t.Error("there are no events, or no commands")
	}
	f.addFiles(t, all)
	return all
}

// addFiles adds the files of the run, but for the test's own and those of the runtime: the root, which is a copy of
// the configuration, and the data directory.
func (f *fixture) addFiles(t *testing.T, all map[string]string) {
	t.Helper()
	work := filepath.Join(f.dir, "work")
	notOurs := map[string]bool{f.config: true, f.files: true, filepath.Join(work, "root"): true, filepath.Join(work, ".terraform"): true}
	err := filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case notOurs[path]:
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		all["file "+path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
