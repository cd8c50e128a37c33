package cli

import (
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

const planned = `{"version":1,"op":"plan","error":null,"plan":{"hash":"p2:1","create":1,"update":0,"delete":0}}`

// Who did not get what was to be printed does not get the exit code of a success.
func TestOutputIsLost(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		end  jobtest.End
		code int
	}{
		"hash":    {[]string{"plan"}, jobtest.End{Message: planned}, 1},
		"outputs": {[]string{"apply"}, applied(), 1},
		"json":    {[]string{"apply", "-o", "json"}, applied(), 1},
		"detach":  {[]string{"apply", "--detach"}, applied(), 1},
		"dry run": {[]string{"apply", "--dry-run"}, jobtest.End{}, 1},
		"json of a failure": {[]string{"apply", "-o", "json"}, jobtest.End{
			Message: `{"version":1,"op":"apply","error":{"kind":"blocked","step":"plan","tail":"x"}}`, Code: 4, Condition: batchv1.JobReasonPodFailurePolicy,
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := setUp(t)
			term.full = true
			ended := term.begin(term.args(tt.args[0], tt.args[1:]...)...)
			if name != "dry run" {
				term.end(tt.end)
			}
			term.code(ended, tt.code)
			if n := strings.Count(term.err.String(), "no space left on device"); n != 1 {
				t.Errorf("that it is lost is told %d times:\n%s", n, term.err)
			}
		})
	}
}

func TestDetachForPrograms(t *testing.T) {
	term := setUp(t)
	term.must(0, term.args("apply", "--detach", "-o", "json")...)
	if want := `{"job":"` + term.job() + `"}` + "\n"; term.out.String() != want {
		t.Errorf("printed %q, want %q", term.out, want)
	}
}

// A blocked apply has no hash to print, and the way on has the flags of this command.
func TestBlocked(t *testing.T) {
	term := setUp(t)
	ended := term.begin(term.args("apply", "--guard-deletes")...)
	term.end(jobtest.End{
		Message: `{"version":1,"op":"apply","error":{"kind":"blocked","step":"plan","tail":"deletes a.b"},"plan":{"hash":"","create":0,"update":0,"delete":1}}`,
		Code:    4, Condition: batchv1.JobReasonPodFailurePolicy,
	})
	term.code(ended, 4)
	term.says(term.err, "captf launch apply --approve HASH without --guard-deletes")
	if term.out.String() != "" {
		t.Errorf("printed %q", term.out)
	}
}

// A Job may be named as kubectl prints it.
func TestAttachToPrintedName(t *testing.T) {
	term := setUp(t)
	ended := term.begin(term.args("apply")...)
	job := term.end(applied())
	term.code(ended, 0)
	for _, name := range []string{"job/" + job, "job.batch/" + job} {
		term.must(0, "attach", name)
	}
}

// A cluster that waits for its machines keeps its leases. After an interrupt they are free when they have aged.
func TestInterruptedWait(t *testing.T) {
	term := setUp(t)
	machine := naming.Object{Kind: naming.Machine, Namespace: term.namespace, Name: "m", Cluster: term.object.Cluster}
	clients := launch.NewClients(term.client, term.namespace)
	gate := lease.Gate{Leases: clients.Leases, Jobs: clients.Holder}
	a, err := gate.Enter(t.Context(), lease.Claim{Object: machine, Op: naming.Apply, Job: "captf-m-m-apply-a1-000000", Deadline: launch.DefaultDeadline})
	if err != nil || !a.Admitted() {
		t.Fatalf("%+v, %v", a, err)
	}
	ended := term.begin(term.args("apply")...)
	term.awaitText(string(lease.WaitingForMachineOperations))
	term.interrupts <- os.Interrupt
	term.code(ended, 3)
	term.says(term.err, "no job was created; what it has reserved for one is free again in 1m0s")
	leases, err := term.client.CoordinationV1().Leases(term.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(leases.Items) != 3 {
		t.Errorf("%v: %d leases, want the machine's and both of the cluster", err, len(leases.Items))
	}
}

func TestOneLine(t *testing.T) {
	if got, want := oneLine("refused\n\n  To retry:\n\n    push\n"), "refused; To retry:; push"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
