package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

func TestCheckKey(t *testing.T) {
	long := strings.Repeat("a", store.MaxSegment)
	for _, key := range []string{"a", "a/b", "team%2Fprod/head.json", "a..b", "A-Z_9.", long, strings.Repeat("a/", 7) + "a"} {
		if err := store.CheckKey(key); err != nil {
			t.Errorf("CheckKey(%q) = %v", key, err)
		}
	}
	for _, key := range []string{"", "/", "a/", "/a", "a//b", ".", "..", "a/../b", ".hidden", "a/.tmp-x", "a b", "a\x00", "é", "a\\b",
		long + "a", strings.Repeat("a/", 8) + "a"} {
		if err := store.CheckKey(key); !errors.Is(err, store.ErrKey) {
			t.Errorf("CheckKey(%q) = %v, want ErrKey", key, err)
		}
	}
}
