package main

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/runner/naming"
)

// putLockLease makes a free lock as the backend does.
func putLockLease(t *testing.T, c *statetest.Cluster) {
	t.Helper()
	own, err := naming.Labels(c.Object)
	if err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: naming.LockLease(c.Suffix), Labels: naming.BackendSelector(c.Suffix, own)}}
	if _, err := c.Leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A chunk that has lost its labels does not decide which labels the others are to have: the command that repairs them
// would hide the state from every runtime.
func TestLostLabelsDoNotDecide(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		chunks int
		lock   bool
		lose   func(labels map[string]string)
	}{
		"the cluster, in one of two":         {chunks: 2, lose: func(l map[string]string) { delete(l, naming.LabelCluster) }},
		"the cluster, and only the lock has": {chunks: 1, lock: true, lose: func(l map[string]string) { delete(l, naming.LabelCluster) }},
		"the owner, in one of two":           {chunks: 2, lose: func(l map[string]string) { l[naming.LabelOwnerName] = "other" }},
		"all, and only the lock has":         {chunks: 1, lock: true, lose: func(l map[string]string) { clear(l) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := statetest.New(t, kubetest.Shared(t))
			p := operator(t, c)
			data := statetest.Gzip([]byte(document(7)))
			for i := range test.chunks {
				c.PutChunk(t, naming.StateSecret(c.Suffix, i), data[len(data)*i/test.chunks:len(data)*(i+1)/test.chunks])
			}
			if test.lock {
				putLockLease(t, c)
			}
			right := c.Secret(t, 0).Labels
			c.Change(t, 0, func(s *corev1.Secret) { test.lose(s.Labels) })
			var v stateView
			p.run(t, "state", "show", "--suffix", c.Suffix, "-o", "json").decode(t, &v)
			kubectl(t, v.Next)
			for key, value := range c.Secret(t, 0).Labels {
				if right[key] != value {
					t.Errorf("%s gives the label %s=%s, want %q", v.Next, key, value, right[key])
				}
			}
			p.run(t, "doctor", "worker-0").want(t, 0, "cluster prod", "ok   state   readable")
		})
	}
}

// Where no label names the cluster any more, the command to repair them does not make one up.
func TestClusterThatNothingNames(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	for _, lose := range []func(labels map[string]string){
		func(l map[string]string) { delete(l, naming.LabelManaged) },
		func(l map[string]string) { delete(l, naming.LabelCluster) },
		func(l map[string]string) { clear(l) },
	} {
		c.Change(t, 0, func(s *corev1.Secret) { lose(s.Labels) })
		p.run(t, "doctor", "tm/worker-0").want(t, 1, "StateMislabelled", "-> captf doctor tm/worker-0 -n "+c.Object.Namespace+" --cluster-name NAME")
	}
	var v stateView
	p.run(t, "state", "show", "tm/worker-0", "--cluster-name", "prod", "-o", "json").decode(t, &v)
	kubectl(t, v.Next)
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "cluster prod", "ok   state   readable")
}

// An object outside any cluster has the label of it all the same, empty, and so has its lock.
func TestOutsideAnyCluster(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	c.Object.Cluster = ""
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	putLockLease(t, c)
	c.Change(t, 0, func(s *corev1.Secret) { delete(s.Labels, naming.LabelCluster) })
	var v stateView
	p.run(t, "state", "show", "tm/worker-0", "-o", "json").decode(t, &v)
	kubectl(t, v.Next)
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "cluster -", "ok   state   readable")
}

// A copy that was made when nothing named the cluster does not contradict what names it later.
func TestCopyThatNamesNoCluster(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	c.Change(t, 0, func(s *corev1.Secret) { delete(s.Labels, naming.LabelCluster) })
	p.run(t, "state", "backup", "tm/worker-0").want(t, 0, "backed up as")
	p.run(t, "doctor", "tm/worker-0").want(t, 1, "--cluster-name NAME")
	c.Change(t, 0, func(s *corev1.Secret) { s.Labels[naming.LabelCluster] = "prod" })
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "cluster prod", "ok   state   readable")
}

// The newest Job was made with what is known last: an older one that knew no cluster does not count.
func TestClusterOfTheNewestJob(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	in := c.Object.Cluster
	c.Object.Cluster = ""
	putJob(t, c, naming.Apply, 1, batchv1.JobComplete)
	c.Object.Cluster = in
	putJob(t, c, naming.Apply, 2, batchv1.JobComplete)
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "cluster "+in, "ok   state   readable")
}

// Where labels name several clusters a person has to say which one is right.
func TestLabelsOfSeveralClusters(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	putLockLease(t, c)
	c.Change(t, 0, func(s *corev1.Secret) { s.Labels[naming.LabelCluster] = "other" })
	const says = `do not agree: some say "other", some "prod"`
	p.run(t, "doctor", "tm/worker-0").want(t, 1, "!!   state   StateMislabelled", says,
		"-> captf doctor tm/worker-0 -n "+c.Object.Namespace+" --cluster-name NAME")
	e := p.run(t, "doctor", "tm/worker-0")
	if n := strings.Count(e.out, "do not agree"); n != 1 {
		t.Errorf("it is told %d times that the labels do not agree:\n%s", n, e.out)
	}
	p.run(t, "state", "show", "tm/worker-0").want(t, 1, "False StateMislabelled", "--cluster-name NAME", says, "serial       7")
	p.run(t, "state", "show", "tm/worker-0", "--cluster-name", "prod").want(t, 1, "StateMislabelled", naming.LabelCluster+"=prod")
	p.run(t, "state", "show", "tm/worker-0", "--cluster-name", "other").want(t, 0, "StateRead")
	p.run(t, "state", "ls").want(t, 0, "tm/worker-0")
}

// A namespace that does not exist is no healthy one.
func TestMissingNamespace(t *testing.T) {
	t.Parallel()
	p := admin(t)
	const says = "namespace no-such-namespace does not exist"
	for _, command := range [][]string{
		{"doctor", "tm/worker-0"}, {"doctor", "worker-0"}, {"doctor", "--suffix", "0123456789abcdef-m"},
		{"lock", "show", "tm/worker-0"}, {"lock", "release", "tm/worker-0"},
		{"lease", "show"}, {"lease", "show", "tm/worker-0"}, {"state", "ls"}, {"state", "backups", "tm/worker-0"}, {"state", "rescue", "tm/worker-0"},
		{"state", "show", "tm/worker-0"}, {"state", "pull", "tm/worker-0"}, {"state", "explain", "tm/worker-0"}, {"state", "backup", "tm/worker-0"},
	} {
		p.run(t, append(command, "-n", "no-such-namespace")...).want(t, 1, says)
	}
	var v doctorView
	p.run(t, "doctor", "tm/worker-0", "-n", "no-such-namespace", "-o", "json").decode(t, &v)
	if v.Healthy || len(v.Findings) != 1 || v.Findings[0].Area != "cluster" || v.Findings[0].Level != problem {
		t.Errorf("got %+v", v)
	}
}
