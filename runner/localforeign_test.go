package runner

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHoldsResources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "terraform.tfstate")
	if holds, err := holdsResources(path); holds || err != nil {
		t.Errorf("no file at all: it holds resources: %v, %v", holds, err)
	}
	for text, want := range map[string]bool{
		"":                                      false,
		"\n":                                    false,
		`{"version":4,"resources":[]}`:          false,
		`{"version":4,"resources":[{}]}`:        true,
		`{"version":4,"encrypted_data":"eA=="}`: true,
		`{"version":3,"modules":[{}]}`:          true,
		`{"version":4,"resour`:                  true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := holdsResources(path); got != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}
