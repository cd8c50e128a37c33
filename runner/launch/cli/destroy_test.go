package cli

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/naming"
)

func TestDestroy(t *testing.T) {
	term := setUp(t)
	term.must(0, term.args("destroy")...)
	term.says(term.err, "nothing is left of the state")
	if len(term.jobs()) > 0 {
		t.Error("there was nothing to destroy, and a Job was started")
	}
	ended := term.begin(term.args("apply")...)
	term.end(applied())
	term.code(ended, 0)
	ended = term.begin(term.args("destroy")...)
	term.end(jobtest.Succeeded)
	term.code(ended, 0)
	if term.stateIsThere() {
		t.Error("the state is still there")
	}
}

// encrypted makes a document of jobtest one that does not tell what is in it.
const encrypted = `{},"encryption_version":"v0"`

// destroyed is a destroy that leaves an encrypted state of this serial; 0 leaves the state as it is.
func destroyed(n, serial int) jobtest.End {
	message := fmt.Sprintf(`{"version":1,"op":"destroy","error":null,"changes":{"add":0,"change":0,"destroy":%d}}`, n)
	return jobtest.End{Message: message, Serial: serial, Outputs: encrypted}
}

// One command line destroys twice, since only the second destroy shows that the encrypted state is empty. Both are
// told of.
func TestDestroyEncrypted(t *testing.T) {
	term := setUp(t)
	term.encryptedState()
	code := term.begin(term.args("destroy")...)
	term.end(destroyed(7, 2))
	term.awaitText("destroy succeeded: 0 added, 0 changed, 7 destroyed")
	term.end(destroyed(0, 0))
	term.code(code, 0)
	term.says(term.err, "the state is encrypted", "0 destroyed")
	if term.stateIsThere() {
		t.Error("the state is still there")
	}
}

// Whoever only attached has nothing to make a second Job from: the first one's end is what counts, and the state stays.
func TestAttachToDestroyEncrypted(t *testing.T) {
	term := setUp(t)
	term.encryptedState()
	term.must(0, term.args("destroy", "--detach")...)
	job := strings.TrimSpace(term.out.String())
	code := term.begin("attach", job)
	term.end(destroyed(7, 2))
	term.code(code, 0)
	term.says(term.err, "destroy succeeded", "the state is left: captf launch destroy")
	if !term.stateIsThere() {
		t.Error("the state is gone, and nobody knew that it was empty")
	}
}

// What keeps the state of a destroyed object is told, and ends the command with the code of a refusal.
func TestDestroyRefusedCleanup(t *testing.T) {
	term := setUp(t)
	term.encryptedState()
	code := term.begin(term.args("destroy")...)
	end := destroyed(7, 2)
	end.Outputs = "{"
	term.end(end)
	term.code(code, 4)
	term.says(term.err, "7 destroyed", "StateCorrupt")
}

func (t *terminal) encryptedState() {
	t.Helper()
	if err := t.kubelet.WriteState(t.Context(), 1, encrypted); err != nil {
		t.Fatal(err)
	}
}

func (t *terminal) stateIsThere() bool {
	_, err := t.client.CoreV1().Secrets(t.namespace).Get(t.Context(), naming.StateSecret(naming.Suffix(t.object), 0), metav1.GetOptions{})
	return err == nil
}
