package torture

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/result"
)

// hundreds is how many resources a run has made when it is killed, before it saved its state: far more than a result
// of 4096 bytes can name.
const hundreds = 300

// manyFiles are made before probe_file.second, at which the run is held.
var manyFiles = fmt.Sprintf(`
resource "probe_file" "many" {
  count = %d
  path  = "${var.files}/many-${count.index}"
}
resource "probe_file" "second" {
  path    = "${var.files}/second"
  content = length(probe_file.many)
}
`, hundreds)

// TestHundredsUnsaved kills runs that have made hundreds of resources which no saved state knows. All of them are named
// then: when the runner itself is killed as well, by the list that it left before the first of them was made.
func TestHundredsUnsaved(t *testing.T) {
	servers := servers{statesrv: startStatesrv(t)}
	for i, c := range hundredsCells() {
		if !whole && i > 1 {
			break
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			newTrial(t, c, servers).killHundreds()
		})
	}
}

// hundredsCells are all combinations. The first two have both of each.
func hundredsCells() (cells []cell) {
	backends, runtimes, faults := []string{onKubernetes, onHTTP}, []string{"tofu", "terraform"}, []string{killPod, killChild, killRunner}
	for i := range 2 * 2 * len(faults) {
		c := cell{backend: backends[i%2], runtime: runtimes[(i+i/2)%2], fault: faults[(i+i/4)%len(faults)], moment: "hundreds", task: creates}
		cells = append(cells, c)
	}
	return cells
}

func (tr *trial) killHundreds() {
	tr.ordinary("seed")
	tr.write(filepath.Join(tr.config, "more.tf"), manyFiles)
	g := tr.providerGate("before-create-second")
	tr.t.Cleanup(g.open)
	tr.job = start(tr.t, tr.command("apply", tr.workdir(), tr.result, tr.flags()...), tr.does.pod, filepath.Join(tr.dir, "first.log"))
	select {
	case <-g.reached:
	case <-time.After(reachTimeout):
		tr.t.Fatalf("the moment has not come:\n%s", tr.job.log())
	}
	time.Sleep(settleTime)
	tr.does.strike(tr)
	g.open()
	tr.awaitEnd()
	tr.checkHundreds(tr.ending(tr.job, tr.result))
	tr.next()
}

// checkHundreds: each that was made is in the state or named.
func (tr *trial) checkHundreds(e ending) {
	tr.t.Helper()
	if e.result == nil || e.result.Unsaved == nil && tr.fault != killRunner {
		tr.t.Fatalf("the result names nothing: %s\n%s", e.document, e.log)
	}
	state := parseState(tr.t, tr.store.state(tr.t))
	named := tr.named(e)
	missing := 0
	for i := range hundreds {
		name := fmt.Sprintf("many-%d", i)
		address := fmt.Sprintf("probe_file.many[%d]", i)
		if tr.made(name) > 0 && state.has(object{name, "probe_file.many"}) == 0 && !named[address] {
			missing++
		}
	}
	if missing > 0 {
		tr.t.Errorf("%d of %d are forgotten: the result %s\n%s", missing, hundreds, e.document, e.log)
	}
	if size := len(e.document); size > result.MaxSize {
		tr.t.Errorf("the result has %d bytes", size)
	}
}

// named are the addresses that a result leads to: its own, those of the whole result, and those of the list of
// changes.
func (tr *trial) named(e ending) map[string]bool {
	tr.t.Helper()
	named := map[string]bool{}
	add := func(u *result.Unsaved) {
		if u == nil {
			return
		}
		for _, r := range u.Resources {
			named[r.Address] = true
		}
	}
	add(e.result.Unsaved)
	if e.result.Document != "" {
		full, err := result.Decode(tr.store.document(tr.t, e.result.Document, "result.json"))
		if err != nil {
			tr.t.Fatal(err)
		}
		if add(full.Unsaved); full.Unsaved.Count != len(full.Unsaved.Resources) {
			tr.t.Errorf("the whole result names %d of %d", len(full.Unsaved.Resources), full.Unsaved.Count)
		}
		return named // it has to name all of them by itself
	}
	if e.result.Unsaved != nil && e.result.Unsaved.Planned != "" {
		var list result.ChangeList
		if err := json.Unmarshal(tr.store.document(tr.t, e.result.Unsaved.Planned, "changes.json"), &list); err != nil {
			tr.t.Fatal(err)
		}
		for _, c := range list.Resources {
			named[c.Address] = true
		}
	}
	return named
}

func (s *kubeStore) document(t *testing.T, name, key string) []byte {
	t.Helper()
	cm, err := s.server.Clientset().CoreV1().ConfigMaps(s.object.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].Name != jobName {
		t.Errorf("the owners of %s are %v, want the Job", name, cm.OwnerReferences)
	}
	return []byte(cm.Data[key])
}

func (s *httpStore) document(t *testing.T, path, _ string) []byte {
	t.Helper()
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return document
}
