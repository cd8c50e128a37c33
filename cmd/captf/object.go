package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// target is what a command line says about an object. Kind, or kind and name, may be open.
type target struct {
	kind   naming.Kind
	name   string
	suffix string // instead of kind and name
}

// kindNames are the ways to write a kind, in lower case, besides its own name and that with an s.
var kindNames = map[string]naming.Kind{
	"tc": naming.Cluster, "tm": naming.Machine, "tmp": naming.MachinePool,
	naming.Cluster.Short(): naming.Cluster, naming.Machine.Short(): naming.Machine, naming.MachinePool.Short(): naming.MachinePool,
}

// shortKind is the way that this program writes a kind.
func shortKind(k naming.Kind) string {
	if k.Short() == "" {
		return string(k)
	}
	return "t" + k.Short()
}

// objectName is how a person writes an object.
func objectName(o naming.Object) string { return shortKind(o.Kind) + "/" + o.Name }

func parseKind(text string) (naming.Kind, bool) {
	lower := strings.ToLower(text)
	if k, ok := kindNames[lower]; ok {
		return k, true
	}
	for _, k := range naming.Kinds() {
		if name := strings.ToLower(string(k)); lower == name || lower == name+"s" {
			return k, true
		}
	}
	return "", false
}

// parseTarget reads KIND/NAME, NAME, or the name of a state Secret or a lock or run Lease.
func parseTarget(arg string) (target, error) {
	kind, name, found := strings.Cut(arg, "/")
	switch {
	case arg == "":
		return target{}, usagef("the name of the object is empty")
	case !found:
		if suffix, ok := suffixOf(arg); ok {
			return target{suffix: suffix}, nil
		}
		return target{name: arg}, nil
	case name == "" || strings.Contains(name, "/"):
		return target{}, usagef("%q is not KIND/NAME", arg)
	}
	k, ok := parseKind(kind)
	if !ok {
		return target{}, usagef("kind %q is unknown: use TerraformCluster (tc), TerraformMachine (tm) or TerraformMachinePool (tmp)", kind)
	}
	return target{kind: k, name: name}, nil
}

// suffixOf takes the suffix from the name of a Secret or Lease of a state.
func suffixOf(name string) (string, bool) {
	for _, prefix := range []string{naming.LockLease(""), naming.StateSecret("", 0), naming.RunLease("")} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			suffix, _, _ := strings.Cut(rest, "-part-")
			return suffix, true
		}
	}
	return "", false
}

// objectFlags choose the object of a command.
type objectFlags struct {
	suffix  string
	cluster string
}

func (f *objectFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.suffix, "suffix", "", "the state's secret_suffix, instead of OBJECT")
	c.Flags().StringVar(&f.cluster, "cluster-name", "", "the object's Cluster API cluster; found by the labels of its Jobs when it is empty")
}

// args is for commands that take one object.
func (f *objectFlags) args(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return usagef("want one OBJECT, and got %d arguments", len(args))
	case len(args) == 0 && f.suffix == "":
		return usagef("want OBJECT, such as tc/NAME, or --suffix")
	case len(args) == 1 && f.suffix != "":
		return usagef("want OBJECT or --suffix, and got both")
	}
	return nil
}

// target is the object that arguments and flags name.
func (f *objectFlags) target(args []string) (target, error) {
	if f.suffix != "" {
		return target{suffix: f.suffix}, nil
	}
	return parseTarget(args[0])
}

// object connects, and finds the object of a command.
func (a *app) object(ctx context.Context, f *objectFlags, args []string) (*cluster, naming.Object, error) {
	t, err := f.target(args)
	if err != nil {
		return nil, naming.Object{}, err
	}
	cl, err := a.connect()
	if err != nil {
		return nil, naming.Object{}, err
	}
	o, err := cl.find(ctx, t)
	o.Cluster = f.cluster
	return cl, o, err
}

// objectInCluster is object with the object's cluster.
func (a *app) objectInCluster(ctx context.Context, f *objectFlags, args []string) (*cluster, naming.Object, error) {
	cl, o, err := a.object(ctx, f, args)
	if err != nil {
		return nil, o, err
	}
	o, err = cl.withCluster(ctx, o)
	return cl, o, err
}

// find returns the object that t means. Its cluster is left open.
func (cl *cluster) find(ctx context.Context, t target) (naming.Object, error) {
	switch {
	case t.suffix != "":
		return cl.findSuffix(ctx, t.suffix)
	case t.kind == "":
		return cl.findName(ctx, t.name)
	}
	o := naming.Object{Kind: t.kind, Namespace: cl.namespace, Name: t.name}
	if err := o.Validate(); err != nil {
		return naming.Object{}, usageError{err}
	}
	return o, nil
}

// findName looks for the only object of a name.
func (cl *cluster) findName(ctx context.Context, name string) (naming.Object, error) {
	all, err := cl.inventory(ctx)
	if err != nil {
		return naming.Object{}, fmt.Errorf("find %q: %w", name, err)
	}
	var found []naming.Object
	var names []string
	for _, e := range all {
		if e.object.Name == name && e.exact() {
			found = append(found, e.object)
			names = append(names, objectName(e.object))
		}
	}
	switch len(found) {
	case 0:
		if err := cl.namespaceExists(ctx); err != nil {
			return naming.Object{}, err
		}
		return naming.Object{}, fmt.Errorf("nothing in namespace %s belongs to an object called %q: write KIND/NAME, or look at %s state ls", cl.namespace, name, cl.captf)
	case 1:
		return found[0], nil
	}
	return naming.Object{}, usagef("%q is ambiguous in namespace %s: write one of %s", name, cl.namespace, strings.Join(names, ", "))
}

// findSuffix looks for the owner of a state by the labels of whatever there is of it.
func (cl *cluster) findSuffix(ctx context.Context, suffix string) (naming.Object, error) {
	all, err := cl.inventory(ctx)
	if err != nil {
		return naming.Object{}, fmt.Errorf("find the owner of %s: %w", suffix, err)
	}
	for _, e := range all {
		switch {
		case e.suffix != suffix:
		case !e.exact():
			return naming.Object{}, fmt.Errorf("suffix %s: its labels say %s, which is not its owner: write KIND/NAME", suffix, objectName(e.object))
		default:
			return e.object, nil
		}
	}
	return naming.Object{}, cl.ownerless(ctx, suffix)
}

// ownerless says why a suffix has no owner: the state may be one of a Job that nobody has launched, without our labels.
func (cl *cluster) ownerless(ctx context.Context, suffix string) error {
	_, errSecret := cl.Secrets.Get(ctx, naming.StateSecret(suffix, 0), metav1.GetOptions{})
	_, errLease := cl.Leases.Get(ctx, naming.LockLease(suffix), metav1.GetOptions{})
	if errSecret != nil && errLease != nil {
		if err := cl.namespaceExists(ctx); err != nil {
			return err
		}
		return fmt.Errorf("nothing in namespace %s has the suffix %s: write KIND/NAME, or give -n", cl.namespace, suffix)
	}
	return fmt.Errorf("the state of suffix %s has no labels that name its owner, so that this program knows no Jobs of it: "+
		"%s get lease -n %s %s -o yaml shows who holds its lock, and %s get secret -n %s %s -o 'jsonpath={.data.tfstate}' | base64 -d | gunzip prints it, for %s state explain -",
		suffix, cl.kubectl, cl.namespace, naming.LockLease(suffix), cl.kubectl, cl.namespace, naming.StateSecret(suffix, 0), cl.captf)
}

// withCluster finds the object's cluster, where no flag gave it: the labels of its Jobs are what the library wrote, so
// they count more than those of the state, which may be the ones at fault. It stays open where nothing names it.
func (cl *cluster) withCluster(ctx context.Context, o naming.Object) (naming.Object, error) {
	if o.Cluster != "" {
		return o, nil
	}
	name, _, err := cl.namedCluster(ctx, o)
	if err != nil {
		return o, fmt.Errorf("find the cluster of %s, or give --cluster-name: %w", objectName(o), err)
	}
	o.Cluster = name
	return o, nil
}

// namedCluster returns the cluster that labels name, and whether any does: an object outside any cluster has the empty
// one.
func (cl *cluster) namedCluster(ctx context.Context, o naming.Object) (name string, named bool, err error) {
	if name, named, err = cl.Cluster(ctx, o); named || err != nil {
		return name, named, err
	}
	return cl.clusterByLabels(ctx, naming.Suffix(o))
}

// errClusters says that labels name several clusters, of which all but one are wrong.
var errClusters = errors.New("the labels of its state, copies and leases do not agree")

// clusterByLabels returns the cluster that the labels of a state, its copies and its leases agree on. A label that is
// missing says nothing. Who may not list leases goes by the Secrets alone.
func (cl *cluster) clusterByLabels(ctx context.Context, suffix string) (name string, named bool, err error) {
	found := map[string]*entry{}
	if err := cl.addSecrets(ctx, found); err != nil {
		return "", false, err
	}
	key := cl.namespace + "/" + suffix
	if err := cl.addLeases(ctx, found); err != nil && (found[key] == nil || len(found[key].clusters) == 0 || !apierrors.IsForbidden(err)) {
		return "", false, err
	}
	e := found[key]
	switch {
	case e == nil:
		return "", false, nil
	case len(e.clusters) > 1:
		return "", false, fmt.Errorf("%w: some say %q, some %q", errClusters, e.clusters[0], e.clusters[1])
	}
	return e.object.Cluster, len(e.clusters) == 1, nil
}

// completeObject completes KIND/NAME.
func (a *app) completeObject(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.objects(c.Context(), typed), cobra.ShellCompDirectiveNoFileComp
}

// objects has none when they cannot be read: there is nobody to tell while a shell completes.
func (a *app) objects(ctx context.Context, prefix string) []string {
	cl, err := a.connect()
	if err != nil {
		return nil
	}
	all, err := cl.inventory(ctx)
	if err != nil {
		return nil
	}
	kind, _, _ := strings.Cut(prefix, "/")
	var names []string
	for _, e := range all {
		name := objectName(e.object)
		if k, ok := parseKind(kind); ok && k == e.object.Kind && kind != shortKind(k) {
			name = kind + "/" + e.object.Name // as it was begun
		}
		if e.exact() && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}
