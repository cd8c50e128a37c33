package cli

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
)

// A program that asks for the outputs must not take it for a success that it does not get them.
func TestOutputsCannotBeRead(t *testing.T) {
	term := setUp(t)
	m, client, err := kubetest.NewMortal(kubetest.Shared(t).Config(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	var marks int
	m.Spoil = func(r *http.Request, ask func() (*http.Response, error)) (*http.Response, error) {
		if down.Load() && strings.HasSuffix(r.URL.Path, "/secrets") {
			return nil, errors.New("the server is down")
		}
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/jobs/") {
			marks++
			down.Store(marks == 2) // the books are closed
		}
		return ask()
	}
	term.env.Connect = func() (kubernetes.Interface, string, error) { return client, term.namespace, nil }
	ended := term.begin(term.args("apply", "-o", "json")...)
	done := jobtest.Succeeded
	done.Outputs = `{"endpoint":{"value":"https://prod","type":"string"}}`
	job := term.end(done)
	term.code(ended, 1)
	term.says(term.err, "apply succeeded", "could not be read", "the server is down", "captf launch attach "+job)
	down.Store(false)
	term.clear()
	term.must(0, "attach", job)
	term.says(term.out, `endpoint = "https://prod"`)
}
