package kubetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEndedProcessShowsItsLog(t *testing.T) {
	p := programs{
		etcd: script(t, "etcd", "echo \"ETCD_NAME: [$ETCD_NAME]\"\necho no such flag >&2\nexit 3"),
		api:  script(t, "kube-apiserver", "exec sleep 600"),
	}
	t.Setenv("ETCD_NAME", "set by the caller")
	_, err := start(p)
	for _, want := range []string{"etcd ended: exit status 3", "ETCD_NAME: []", "no such flag"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want %q in it", err, want)
		}
	}
}

// script writes a program that plays another one.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
