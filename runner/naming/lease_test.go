package naming

import (
	"slices"
	"testing"
)

// The write lease is that of a cluster which is changed itself: its machines take none.
func TestLeases(t *testing.T) {
	cluster := Object{Namespace: "n", Kind: Cluster, Name: "x", Cluster: "c"}
	machine, alone := cluster, cluster
	machine.Kind, alone.Cluster = Machine, ""
	for _, tt := range []struct {
		object Object
		want   []string
	}{
		{cluster, []string{RunLease(Suffix(cluster)), ClusterLease("n", "c")}},
		{machine, []string{RunLease(Suffix(machine))}},
		{alone, []string{RunLease(Suffix(alone))}},
	} {
		if got := Leases(tt.object); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: leases = %q, want %q", tt.object, got, tt.want)
		}
	}
}
