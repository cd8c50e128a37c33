package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/explain"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state/backup"
)

// module has a resource, a secret and two outputs.
const module = `
variable "text" { default = "one" }
resource "terraform_data" "x" { input = { text = var.text, password = "hunter2-hunter2" } }
output "text" { value = var.text }
output "secret" {
  value     = "hunter2-hunter2"
  sensitive = true
}
`

var changedModule = strings.Replace(module, `default = "one"`, `default = "two"`, 1)

// hasNoSecret checks that a command has not shown a sensitive value.
func (e ended) hasNoSecret(t *testing.T) {
	t.Helper()
	if strings.Contains(e.out+e.err, "hunter2") {
		t.Errorf("it printed a secret:\n%s%s", e.out, e.err)
	}
}

func TestStateCommandsWithBothRuntimes(t *testing.T) {
	t.Parallel()
	for _, runtime := range tools.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			c := statetest.New(t, kubetest.Shared(t))
			m := c.Apply(t, runtime, module)
			testState(t, c, m, operator(t, c))
		})
	}
}

// testState takes a state that was applied once through all commands.
func testState(t *testing.T, c *statetest.Cluster, m *statetest.Module, p program) {
	name := "tm/" + c.Object.Name
	var before stateView
	p.run(t, "state", "show", name, "-o", "json").decode(t, &before)
	var raw struct {
		Serial  uint64
		Lineage string
		Version string `json:"terraform_version"`
	}
	pulled := p.run(t, "state", "pull", name)
	if err := json.Unmarshal([]byte(pulled.out), &raw); err != nil {
		t.Fatal(err)
	}
	want := stateView{
		Object: name, Namespace: c.Object.Namespace, Cluster: c.Object.Cluster, Suffix: c.Suffix, Readable: "True", Reason: "StateRead",
		Summary: &summaryView{
			Serial: raw.Serial, Lineage: raw.Lineage, ToolVersion: raw.Version, Resources: new(1), Chunks: 1, Bytes: int64(len(pulled.out)),
			Outputs: []outputView{{"secret", `"string"`, true}, {"text", `"string"`, false}},
		},
	}
	if diff := cmp.Diff(want, before, cmpopts.IgnoreFields(summaryView{}, "CompressedSize"), cmpopts.IgnoreUnexported(stateView{})); diff != "" {
		t.Errorf("show (-want +got):\n%s", diff)
	}
	p.run(t, "state", "show", name).want(t, 0, "readable     True StateRead", "secret (sensitive), text")

	p.run(t, "state", "backup", name).want(t, 0, "backed up as ", "(serial "+strconv.FormatUint(raw.Serial, 10)+")")
	p.run(t, "state", "backup", name).want(t, 0, "there is a backup already")
	change(t, m)
	testCopies(t, c, p, pulled.out, raw.Serial)
}

// change applies the changed module in the same working directory.
func change(t *testing.T, m *statetest.Module) {
	t.Helper()
	path := filepath.Join(m.Dir, "main.tf")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), module, changedModule, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Must(t, "apply", "-input=false", "-no-color", "-auto-approve")
}

// testCopies reads the backup of an older serial, and compares it with the state.
func testCopies(t *testing.T, c *statetest.Cluster, p program, old string, serial uint64) {
	name := "tm/" + c.Object.Name
	at := name + "@" + strconv.FormatUint(serial, 10)
	if got := p.run(t, "state", "pull", at); got.code != 0 || got.out != old {
		t.Errorf("pull %s: exit code %d, %d bytes, want the %d of the old state\n%s", at, got.code, len(got.out), len(old), got.err)
	}
	var copies []copyView
	p.run(t, "state", "backups", name, "-o", "json").decode(t, &copies)
	if len(copies) != 1 || copies[0].Serial != serial || !copies[0].Complete || copies[0].Origin != backup.Backup {
		t.Errorf("backups: %+v, want one of serial %d", copies, serial)
	}
	p.run(t, "state", "backups", name).want(t, 0, "NAME", naming.BackupSecret(c.Suffix, serial, 0), "yes")
	p.run(t, "state", "rescue", name).want(t, 0, "No rescue set")
	p.run(t, "state", "pull", name+"@99").want(t, 1, "it has no backup and no rescue set 99")

	e := p.run(t, "state", "diff", at, name)
	e.want(t, 0, "~ terraform_data.x", `~ input.text: "one" -> "two"`, `~ output text: "one" -> "two"`)
	e.hasNoSecret(t)
	var d explain.Difference
	e = p.run(t, "state", "diff", at, name, "-o", "json")
	e.hasNoSecret(t)
	e.decode(t, &d)
	if len(d.Changed) != 1 || d.After.Serial <= d.Before.Serial {
		t.Errorf("diff: %+v", d)
	}
	testSources(t, p, name, old)
}

// testSources explains the same bytes from everywhere.
func testSources(t *testing.T, p program, name, old string) {
	file := filepath.Join(t.TempDir(), "old.tfstate")
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	p.in = old
	for _, source := range []string{name, file, "-", "worker-0"} {
		e := p.run(t, "state", "explain", source)
		e.want(t, 0, "terraform_data.x", "output.secret", "The next write:", "Before you push it:")
		e.hasNoSecret(t)
	}
	var d explain.Document
	p.run(t, "state", "explain", file, "-o", "json").decode(t, &d)
	if len(d.Resources) != 1 || len(d.Outputs) != 2 {
		t.Errorf("explain: %+v", d)
	}
	// A copy may be put in the place of another state; of what stands there, nothing has to be pushed.
	p.run(t, "state", "explain", name).want(t, 0, "it is the current state: nothing has to be pushed")
	p.run(t, "state", "explain", file).want(t, 0, "pull what is there now")
	p.run(t, "state", "explain", "-", "-o", "yaml").want(t, 0, "resources:\n- address: terraform_data.x")
	p.run(t, "state", "diff", "-", file).want(t, 0, "byte for byte")
}

// A state that its copies say is lost is not one that is not there yet, and one that lost its labels has a way out.
func TestLostStateAsASource(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(strings.Replace(document(7), `"resources":[]`, `"resources":[{"mode":"managed","type":"a","name":"b",`+
		`"provider":"provider[\"x/y/z\"]","instances":[{"schema_version":0,"attributes":{"id":"i-1"}}]}]`, 1))))
	p.run(t, "state", "backup", "tm/worker-0").want(t, 0, "backed up as")
	doctor := "captf doctor tm/worker-0 -n " + c.Object.Namespace + " says what to do"
	c.Change(t, 0, func(s *corev1.Secret) { delete(s.Labels, "tfstate") })
	p.run(t, "state", "pull", "tm/worker-0").want(t, 1, "StateMislabelled", doctor)
	secrets := kubetest.Shared(t).Clientset().CoreV1().Secrets(c.Object.Namespace)
	if err := secrets.Delete(t.Context(), c.Secret(t, 0).Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"pull", "explain"} {
		p.run(t, "state", command, "tm/worker-0").want(t, 1, "StateLost", doctor)
	}
}

func TestExplainFromAStateServer(t *testing.T) {
	t.Parallel()
	const doc = `{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"3f2a","outputs":{},"resources":[]}`
	server := httptest.NewServer(stateServer(t, doc))
	defer server.Close()
	address := server.URL + "/states/prod"
	for _, env := range []string{"STATESRV_", "TF_HTTP_"} {
		p := program{env: []string{env + "USERNAME=ops", env + "PASSWORD=s3cr3t-w0rd"}}
		p.run(t, "state", "explain", address).want(t, 0, "serial          3", "lineage         3f2a", "it is the current state")
	}
	program{}.run(t, "state", "explain", address).want(t, 1, "credentials are needed", "STATESRV_USERNAME")
	program{}.run(t, "state", "explain", server.URL+"/nothing").want(t, 2, "/states/")
}

func TestStateErrors(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	p.run(t, "state", "show", "tm/worker-0").want(t, 1, "Unknown StateNotFound")
	p.run(t, "state", "pull", "tm/worker-0").want(t, 1, "StateNotFound: secret tfstate-default-"+c.Suffix+" does not exist")
	p.run(t, "state", "backup", "tm/worker-0").want(t, 1, "StateNotFound")
	p.run(t, "state", "diff", "tm/worker-0", "/does/not/exist").want(t, 1, "StateNotFound")
	p.run(t, "state", "explain", "./worker-0").want(t, 1, "open ./worker-0: no such file")
	p.run(t, "state", "explain", "errored.tfstate").want(t, 1, "there is no file errored.tfstate")
	c.PutChunk(t, naming.StateSecret(c.Suffix, 0), []byte("not gzip"))
	p.run(t, "state", "show", "tm/worker-0").want(t, 1, "False StateCorrupt", "it is not gzip", "do        captf doctor tm/worker-0 -n "+c.Object.Namespace)
	p.run(t, "state", "explain", "tm/worker-0").want(t, 1, "tm/worker-0: StateCorrupt")
	c.Change(t, 0, func(s *corev1.Secret) { delete(s.Labels, naming.LabelMove) })
	p.run(t, "state", "show", "tm/worker-0", "--cluster-name", "prod").want(t, 1, "False", "not gzip")
	c.Change(t, 0, func(s *corev1.Secret) {
		s.Data["tfstate"] = statetest.Gzip([]byte(`{"version":4,"serial":1,"lineage":"a"}`))
	})
	p.run(t, "state", "show", "tm/worker-0", "--cluster-name", "prod").want(t, 1, "False StateMislabelled", naming.LabelMove)
	c.Change(t, 0, func(s *corev1.Secret) { delete(s.Labels, "tfstate") })
	p.run(t, "state", "pull", "tm/worker-0").want(t, 1, "StateMislabelled", "is missing")
}

// A state that OpenTofu encrypted is as it should be.
func TestEncryptedState(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	doc, err := os.ReadFile("../../runner/state/testdata/tofu-encrypted.json")
	if err != nil {
		t.Fatal(err)
	}
	c.Put(t, statetest.Gzip(doc))
	p.run(t, "state", "show", "tm/worker-0").want(t, 0, "False StateEncrypted", "lineage      90b72d96-2232-3311-b898-f6a8a2be823d")
	p.run(t, "state", "explain", "tm/worker-0").want(t, 0, "by OpenTofu")
	var v stateView
	p.run(t, "state", "show", "tm/worker-0", "-o", "json").decode(t, &v)
	if v.Summary == nil || v.Summary.Resources != nil {
		t.Errorf("got %+v: nothing tells how many resources an encrypted state has", v.Summary)
	}
	p.run(t, "state", "ls", "-o", "wide").want(t, 0, "StateEncrypted  1       -          "+c.Suffix)
	p.run(t, "state", "backup", "tm/worker-0").want(t, 0, "backed up as")
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "ok   state   encrypted by OpenTofu")
	if e := p.run(t, "state", "pull", "tm/worker-0"); e.code != 0 || e.out != string(doc) {
		t.Errorf("pull: exit code %d, %d bytes", e.code, len(e.out))
	}
	c.Change(t, 0, func(s *corev1.Secret) { delete(s.Labels, naming.LabelMove) })
	v = stateView{}
	p.run(t, "state", "show", "tm/worker-0", "-o", "json").decode(t, &v)
	if v.Reason != "StateMislabelled" || v.Summary == nil || !v.Summary.Encrypted || v.Summary.Resources != nil {
		t.Errorf("got %+v, %+v: a label that is lost does not decrypt it", v, v.Summary)
	}
}

func TestStateList(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	p.run(t, "state", "ls").want(t, 0, "No state")
	c.Put(t, statetest.Gzip([]byte(`{"version":4,"serial":7,"lineage":"a","resources":[{"mode":"managed"}]}`)))
	long := naming.Object{Kind: naming.Cluster, Namespace: c.Object.Namespace, Name: strings.Repeat("x", 64), Cluster: "prod"}
	other := *c
	other.Object, other.Suffix = long, naming.Suffix(long)
	other.Put(t, statetest.Gzip([]byte(`{}`)))
	p.run(t, "state", "ls").want(t, 0, "tm/worker-0", "--suffix "+other.Suffix, "Free")
	var views []listView
	p.run(t, "state", "list", "-o", "json").decode(t, &views)
	want := []listView{
		{Namespace: c.Object.Namespace, Cluster: "prod", Suffix: other.Suffix, Secrets: 1, Lock: "Free"},
		{Object: "tm/worker-0", Namespace: c.Object.Namespace, Cluster: "prod", Suffix: c.Suffix, Secrets: 1, Lock: "Free"},
	}
	if diff := cmp.Diff(want, views, cmpopts.IgnoreFields(listView{}, "Created"), cmpopts.IgnoreUnexported(stateView{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.run(t, "state", "ls", "-o", "wide").want(t, 0, "READABLE", "StateRead  7       1", c.Suffix)
	p.run(t, "state", "ls", "-A").want(t, 1, "forbidden", "docs/captf.md")
	admin(t).run(t, "state", "ls", "-A").want(t, 0, "NAMESPACE", c.Object.Namespace+"  tm/worker-0")
	p.run(t, "state", "show", "--suffix", other.Suffix).want(t, 1, "its labels say tc/", "write KIND/NAME")
	p.run(t, "state", "show", "tc/"+long.Name).want(t, 1, "False StateCorrupt")
}

// A copy in several Secrets is one backup.
func TestInventoryCountsCopies(t *testing.T) {
	found := map[string]*entry{}
	for _, name := range []string{naming.BackupSecret("s", 1, 0), naming.BackupSecret("s", 1, 1), naming.BackupSecret("s", 2, 0)} {
		addSecret(found, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{naming.LabelCopySuffix: "s"}}})
	}
	if got := len(found["/s"].copies); got != 2 {
		t.Errorf("%d copies, want 2", got)
	}
}

func TestRescueSetIsListedAndCompared(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	putRescue(t, c, 8)
	p.run(t, "state", "rescue", "tm/worker-0").want(t, 0, naming.RescueSecret(c.Suffix, 8, 0), "rescue", "yes")
	p.run(t, "state", "diff", "tm/worker-0", "tm/worker-0@8").want(t, 0, "first   7", "second  8")
}

// document is a small state.
func document(serial uint64) string {
	return `{"version":4,"terraform_version":"1.12.6","serial":` + strconv.FormatUint(serial, 10) + `,"lineage":"3f2a","outputs":{},"resources":[]}`
}

// putRescue stores a rescue set as the runner does.
func putRescue(t *testing.T, c *statetest.Cluster, serial uint64) {
	t.Helper()
	labels, err := naming.Labels(c.Object)
	if err != nil {
		t.Fatal(err)
	}
	labels[naming.LabelRescue] = "true"
	doc := document(serial)
	_, err = c.Secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: naming.RescueSecret(c.Suffix, serial, 0), Labels: labels,
			Annotations: map[string]string{
				naming.AnnotationSerial: strconv.FormatUint(serial, 10), naming.AnnotationLineage: "3f2a", naming.AnnotationDigest: digest(doc),
				naming.AnnotationParts: "1", naming.AnnotationRescuedAt: time.Now().UTC().Format(time.RFC3339),
			},
		},
		Data: map[string][]byte{"tfstate": statetest.Gzip([]byte(doc))},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
