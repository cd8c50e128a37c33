package cmd

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// arrows are the packages of the library with those of ours that each links: they point one way, and whoever vendors
// one of them gets no more than this.
var arrows = map[string][]string{
	"naming":       nil,
	"result":       nil,
	"event":        {"result"},
	"lease":        {"internal/absent", "naming"},
	"lock":         {"internal/absent", "result"},
	"state":        {"naming", "result"},
	"metrics":      {"internal/absent", "lease", "naming", "result", "state"},
	"state/chunks": {"event", "internal/absent", "lock", "naming", "result", "state", "state/internal/page"},
	"state/backup": {"event", "internal/absent", "lock", "naming", "result", "state", "state/chunks", "state/internal/page"},
	"launch": {"event", "internal/absent", "internal/plural", "lease", "lock", "naming", "result", "state", "state/backup", "state/chunks",
		"state/internal/page"},
	"kube":    nil,
	"explain": {"internal/address", "internal/plural", "internal/table", "naming", "redact", "result", "state"},
}

// TestArrows keeps the library's packages apart. But for launch and kube none links client-go: an author of a controller
// brings the clients, and those that need no API server link nothing of Kubernetes.
func TestArrows(t *testing.T) {
	for name, want := range arrows {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, path := range deps(t, "./"+name) {
				inner, isOurs := strings.CutPrefix(path, ours+"/")
				switch {
				case isOurs && inner != "runner/"+name:
					got = append(got, strings.TrimPrefix(inner, "runner/"))
				case strings.HasPrefix(path, "k8s.io/client-go/") && name != "launch" && name != "kube":
					t.Errorf("it links %s", path)
				case strings.HasPrefix(path, "k8s.io/") && slices.Contains([]string{"naming", "result", "event", "state"}, name):
					t.Errorf("it links %s", path)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("packages of ours (-allowed +linked):\n%s", diff)
			}
		})
	}
}

// deps lists what a package of the library links.
func deps(t *testing.T, pkg string) []string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", pkg)
	list.Dir = "../runner"
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dependOn(t, "../runner/"+pkg)
	return strings.Fields(string(out))
}
