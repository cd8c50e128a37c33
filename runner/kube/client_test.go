package kube_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/kube"
)

// answer is what a server that is not an API server at all may send.
func answer(t *testing.T, code int, body string) *kube.Client {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if strings.HasPrefix(body, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

func serve(t *testing.T, handler http.HandlerFunc) *kube.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := kube.New(kube.Config{Host: server.URL, Token: "sesame", Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestUserAgent(t *testing.T) {
	for configured, want := range map[string]string{"": "captf-runner", "statesrv": "statesrv"} {
		agents := make(chan string, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			agents <- r.UserAgent()
			w.WriteHeader(http.StatusNotFound)
		}))
		defer server.Close()
		client, err := kube.New(kube.Config{Host: server.URL, UserAgent: configured})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = client.Leases("ns").Get(t.Context(), "x", metav1.GetOptions{}) // it is not there
		if got := <-agents; got != want {
			t.Errorf("with %q the User-Agent is %q, want %q", configured, got, want)
		}
	}
}

func TestErrorsOfProxies(t *testing.T) {
	tests := map[string]struct {
		code int
		body string
		is   func(error) bool
	}{
		"page without a status": {http.StatusForbidden, "<html>no</html>", apierrors.IsForbidden},
		"not found page":        {http.StatusNotFound, "404 page not found", apierrors.IsNotFound},
		"conflict":              {http.StatusConflict, "", apierrors.IsConflict},
		"status":                {http.StatusGone, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`, apierrors.IsResourceExpired},
		"success that is no JSON": {http.StatusOK, "<html>login</html>", func(err error) bool {
			return strings.Contains(err.Error(), "decode answer")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := answer(t, test.code, test.body).Leases("ns").Get(t.Context(), "x", metav1.GetOptions{})
			if err == nil || !test.is(err) {
				t.Fatalf("error = %v", err)
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Errorf("error tells the token: %v", err)
			}
		})
	}
}

func TestNameMustBeAPathSegment(t *testing.T) {
	client := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("request %s", r.URL) })
	for _, name := range []string{"", "..", "a/b"} {
		if err := client.Secrets("ns").Delete(t.Context(), name, metav1.DeleteOptions{}); err == nil {
			t.Errorf("delete %q succeeded", name)
		}
	}
}

func TestTimeoutBoundsARequest(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hang) })
	client, err := kube.New(kube.Config{Host: server.URL, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Secrets("ns").Get(t.Context(), "x", metav1.GetOptions{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want a deadline", err)
	}
}

func TestRequests(t *testing.T) {
	type request struct{ Method, URL, Auth, Body string }
	var got request
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = request{r.Method, r.URL.String(), r.Header.Get("Authorization"), string(body)}
		_, _ = io.WriteString(w, `{"metadata":{"name":"s","resourceVersion":"8"},"data":{"k":"dg=="},"type":"Opaque"}`)
	})
	secret := &kube.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "7"}, Data: map[string][]byte{"k": []byte("v")}}
	updated, err := client.Secrets("ns").Update(t.Context(), secret, metav1.UpdateOptions{DryRun: []string{"All"}})
	if err != nil {
		t.Fatal(err)
	}
	want := request{"PUT", "/api/v1/namespaces/ns/secrets/s?dryRun=All", "Bearer sesame", `{"metadata":{"name":"s","resourceVersion":"7"},"data":{"k":"dg=="}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	secret.ResourceVersion, secret.Type = "8", "Opaque"
	if diff := cmp.Diff(secret, updated); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestMetadataWithoutContent(t *testing.T) {
	var accept string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		accept = r.Header.Get("Accept")
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadata","metadata":{"name":"s","labels":{"a":"b"}}}`)
	})
	got, err := client.Secrets("ns").GetMetadata(t.Context(), "s", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "s" || got.Labels["a"] != "b" || !strings.Contains(accept, ";as=PartialObjectMetadata;") {
		t.Errorf("metadata %+v, asked for as %q", got, accept)
	}
}

// Something else that answers 200 to everything must not pass for a state, or a lock, that is not there.
func TestAnswerOfSomethingElse(t *testing.T) {
	for _, body := range []string{`{}`, `{"items":[]}`, `{"metadata":{"name":"other"}}`} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		_, secret := client.Secrets("ns").Get(t.Context(), "s", metav1.GetOptions{})
		_, lease := client.Leases("ns").Get(t.Context(), "s", metav1.GetOptions{})
		_, metadata := client.Secrets("ns").GetMetadata(t.Context(), "s", metav1.GetOptions{})
		_, list := client.Secrets("ns").ListMetadata(t.Context(), metav1.ListOptions{})
		for what, err := range map[string]error{"secret": secret, "lease": lease, "metadata": metadata, "list": list} {
			if err == nil || !strings.Contains(err.Error(), "something else answers than the API server") {
				t.Errorf("%s of %s: error %v", what, body, err)
			}
		}
	}
}

func TestNamespace(t *testing.T) {
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		_, _ = io.WriteString(w, `{"metadata":{"name":"l"}}`)
	}))
	t.Cleanup(server.Close)
	for _, test := range []struct{ configured, asked, want string }{
		{"", "", "default"},
		{"infra", "", "infra"},
		{"infra", "other", "other"},
	} {
		client, err := kube.New(kube.Config{Host: server.URL, Namespace: test.configured})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Leases(test.asked).Get(t.Context(), "l", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		if want := "/apis/coordination.k8s.io/v1/namespaces/" + test.want + "/leases/l"; path != want {
			t.Errorf("configured %q, asked for %q: %s", test.configured, test.asked, path)
		}
	}
}
