package result_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/result"
)

// A list of changes is sorted, keeps to its limit, and counts what it had to leave out: never is one resource more left
// out than must be.
func TestChangeList(t *testing.T) {
	var l result.ChangeList
	for i := range 300 {
		l.Resources = append(l.Resources, result.Change{Address: fmt.Sprintf("a.b[%03d]", 299-i), Action: "create"})
	}
	whole := l.Encode(1 << 20)
	if text := l.Encode(len(whole)); string(text) != string(whole) {
		t.Errorf("with room for exactly all %d bytes: %d bytes", len(whole), len(text))
	}
	for _, limit := range []int{1 << 20, len(whole), len(whole) - 1, len(whole) / 2, 200} {
		text := l.Encode(limit)
		var got result.ChangeList
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if len(text) > limit || got.Count != 300 || len(got.Resources)+got.Omitted != 300 {
			t.Errorf("limit %d: %d bytes, count %d, %d resources, %d omitted", limit, len(text), got.Count, len(got.Resources), got.Omitted)
		}
		if one := len(`{"address":"a.b[000]","action":"create"},`) + len(`"omitted":100,`); got.Omitted > 0 && len(text)+one < limit {
			t.Errorf("limit %d: %d bytes, and %d are left out", limit, len(text), got.Omitted)
		}
		if !slices.IsSortedFunc(got.Resources, func(a, b result.Change) int { return strings.Compare(a.Address, b.Address) }) {
			t.Error("it is not sorted")
		}
	}
	if l.Resources[0].Address != "a.b[299]" {
		t.Error("the argument was changed")
	}
	if text := string(result.ChangeList{}.Encode(0)); !strings.Contains(text, `"resources":[]`) {
		t.Errorf("an empty list is %s", text)
	}
}
