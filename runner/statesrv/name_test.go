package statesrv

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

func TestCheckName(t *testing.T) {
	long := strings.Repeat("n", maxSegment)
	for _, name := range []string{"a", "terraform.tfstate", "team/prod", "a-b/c", "A_1.b-2", "azAZ09", long, long + "/" + long[:maxName-maxSegment-1], "a/b/c/d/e/f/g/h"} {
		if err := CheckName(name); err != nil {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
		if err := store.CheckKey(headKey(name)); err != nil {
			t.Errorf("name %q gives a bad key: %v", name, err)
		}
	}
	for _, name := range []string{"", "/", "a/", "/a", "a//b", ".", "..", "../a", "a/..", "a/../b", ".hidden", "a b", "a%2Fb", "a\\b",
		"a\x00", "a\n", "é", "a?b", long + "n", long + "/" + long[:maxName-maxSegment], "a/b/c/d/e/f/g/h/i", strings.Repeat("a", 10_000)} {
		if err := CheckName(name); status(err) != 400 {
			t.Errorf("CheckName(%.40q) = %v, want a refusal with 400", name, err)
		}
	}
}

// FuzzName: whatever the name, it is refused or has a key of its own from which it
// can be told again.
func FuzzName(f *testing.F) {
	for _, name := range []string{"a", "a/b", "a-b", "a%2Fb", "../x", "", ".", "a//b", "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if err := CheckName(name); err != nil {
			if status(err) != 400 {
				t.Errorf("CheckName(%q) = %v, want a refusal with 400", name, err)
			}
			return
		}
		if err := store.CheckKey(headKey(name)); err != nil {
			t.Errorf("accepted name %q has a bad key: %v", name, err)
		}
		if again, ok := nameOf(dirOf(name)); !ok || again != name {
			t.Errorf("name %q comes back as %q, %v", name, again, ok)
		}
	})
}
