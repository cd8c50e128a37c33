package result

import (
	"cmp"
	"slices"
	"sort"
)

// ChangeList is all that a step is going to change. A run leaves it elsewhere before the first change, because a result
// has no room for it: when the run is killed, what it changed and could not say is among these.
type ChangeList struct {
	Version int    `json:"version"`
	Op      string `json:"op"`
	Step    string `json:"step"`
	// Count is the number of changes, of which the last Omitted did not fit.
	Count   int `json:"count"`
	Omitted int `json:"omitted,omitempty"`
	// Resources are sorted by their addresses.
	Resources []Change `json:"resources"`
}

// Encode returns the list as JSON of at most limit bytes, with as many resources as fit. Version, Count and Omitted
// are set by it. The argument is not changed.
func (l ChangeList) Encode(limit int) []byte {
	all := slices.SortedFunc(slices.Values(l.Resources), func(a, b Change) int { return cmp.Compare(a.Address, b.Address) })
	l.Version, l.Count = Version, len(all)
	first := func(n int) []byte {
		l.Omitted, l.Resources = len(all)-n, list(all[:n])
		return marshal(l)
	}
	tooMany := sort.Search(len(all)+1, func(n int) bool { return len(first(n)) > limit })
	return first(max(tooMany-1, 0))
}
