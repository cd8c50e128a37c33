package torture

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/captf/captf-runner/runner/lock"
)

// store is where a cell keeps its state, with a way to look at it that goes neither through the program
// under test nor through the proxy.
type store interface {
	// settings tell the runner where it is, at this URL.
	settings(url string) []string
	// request is the one that stands for a moment.
	request(moment) match
	// state is the stored document, nil when there is none.
	state(t *testing.T) []byte
	// rescued is the state at a place that a result names.
	rescued(t *testing.T, where string) []byte
	held(t *testing.T) lock.Lock
	// hold takes the lock as a run that had this ID and died would have.
	hold(t *testing.T, id string)
	// document is one that a result names.
	document(t *testing.T, name, key string) []byte
}

// servers are those that all cells share.
type servers struct {
	statesrv string // its URL
}

// open makes a place for the cell's state, with a proxy in front of it.
func (s servers) open(t *testing.T, c cell) (store, *proxy) {
	sum := sha256.Sum256([]byte(t.Name()))
	name := "c-" + hex.EncodeToString(sum[:6])
	if c.backend == onHTTP {
		return openHTTP(t, s.statesrv, name), newProxy(t, forward(t, s.statesrv), false)
	}
	return openKube(t, name)
}

// forward hands requests on to a server.
func forward(t *testing.T, server string) *httputil.ReverseProxy {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport}
}

// lockInfo is the record of a run that died.
func lockInfo(id string) string {
	return `{"ID":"` + id + `","Operation":"OperationTypeApply","Info":"","Who":"runner@gone","Version":"1.5.7","Created":"2026-01-02T03:04:05.678Z","Path":""}`
}

// method matches by the request line alone.
func method(want string) match {
	return func(r *http.Request, _ []byte) bool { return r.Method == want }
}
