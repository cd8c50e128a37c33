package naming

// LockLease returns the name of the Lease in which the backend keeps the
// state's lock.
func LockLease(suffix string) string { return "lock-" + statePrefix + suffix }

// RunLease returns the name of the Lease that one Job of an object holds.
func RunLease(suffix string) string { return "captf-run-" + suffix }

// ClusterLease returns the name of the write lease of a cluster.
func ClusterLease(namespace, cluster string) string {
	return "captf-cluster-" + shortHash(namespace+"/"+cluster)
}

// Leases returns the names of the Leases that a Job which changes o holds: its run lease, and the write lease of its
// cluster when o is one.
func Leases(o Object) []string {
	names := []string{RunLease(Suffix(o))}
	if o.Kind == Cluster && o.Cluster != "" {
		names = append(names, ClusterLease(o.Namespace, o.Cluster))
	}
	return names
}
