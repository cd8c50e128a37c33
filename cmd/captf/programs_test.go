package main

import (
	"os/exec"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// putLock has a lock held, by whoever the info says.
func putLock(t *testing.T, c *statetest.Cluster, id, info string) {
	t.Helper()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: naming.LockLease(c.Suffix), Annotations: map[string]string{lock.InfoAnnotation: info}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &id},
	}
	if _, err := c.Leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// next are the commands that a doctor names, with what stands before them.
func (e ended) next() []string {
	var all []string
	for line := range strings.Lines(e.out) {
		if _, command, ok := strings.Cut(line, "-> "); ok {
			all = append(all, strings.TrimSpace(command))
		}
	}
	return all
}

// A command that is copied goes to the cluster that was looked at, whatever the kubeconfig's own is. A token stays secret.
func TestCopiedCommandsGoToTheSameCluster(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	c.Put(t, statetest.Gzip([]byte(document(7))))
	c.Change(t, 0, func(s *corev1.Secret) { s.Labels[naming.LabelStateSuffix] = "other" })
	putLock(t, c, "0ff", `{"ID":"0ff","Who":"runner@`+ownPod(t, c)+`"}`)
	flags := []string{"--context=admin", "--as=some one", "--as-group=system:masters", "--as-group=b", "--kubeconfig=" + admin(t).kubeconfig}
	const given = " --as='some one' --as-group=system:masters --as-group=b --context=admin --kubeconfig="
	nowhere := program{}
	args := append([]string{"doctor", "tm/worker-0", "-n", c.Object.Namespace, "--cluster-name", "prod"}, flags...)
	e := nowhere.run(t, args...)
	commands := e.next()
	if len(commands) < 2 || !strings.HasPrefix(commands[0], "kubectl"+given) || !strings.HasPrefix(commands[1], "captf"+given) {
		t.Errorf("the commands are %q, want the flags%s… in each\n%s", commands, given, e.out+e.err)
	}
	nowhere.run(t, append([]string{"lock", "show", "tm/worker-0", "-n", c.Object.Namespace}, flags...)...).want(t, 0, "do it now: captf"+given)
	e = nowhere.run(t, append(args, "--token=sesame")...)
	if strings.Contains(e.out+e.err, "sesame") {
		t.Errorf("the token is told:\n%s%s", e.out, e.err)
	}
}

// Whoever may write a lock does not write a command for somebody else's shell.
func TestTheIDOfALockIsOneWord(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	const id = `x; echo 'it'"s" $HOME #`
	putLock(t, c, id, "")
	p := operator(t, c)
	for _, e := range []ended{p.run(t, "lock", "show", "tm/worker-0"), p.run(t, "doctor", "tm/worker-0")} {
		_, command, _ := strings.Cut(e.out, "--foreign --id ")
		word, _, _ := strings.Cut(command, "\n")
		got, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+word).Output()
		if err != nil || string(got) != id {
			t.Errorf("a shell reads %q, want %q; error %v\n%s", got, id, err, e.out)
		}
	}
}
