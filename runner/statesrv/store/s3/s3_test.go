package s3

import (
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/storetest"
)

func TestMain(m *testing.M) {
	// The machine's own AWS configuration is none of the tests' business.
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_MAX_ATTEMPTS": "3",
	} {
		os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, opts Options) *Store {
	t.Helper()
	opts.Bucket = "bucket"
	s, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openFake opens a store on a fake server.
func openFake(t *testing.T, f *fake) *Store {
	t.Helper()
	return open(t, Options{Endpoints: []string{newFake(t, f)}})
}

func TestConformance(t *testing.T) {
	for name, c := range map[string]struct {
		faults
		prefix string
	}{
		"Usual":  {faults{}, ""},
		"Unlike": {faults{absent404: true, unquoted: true, pageSize: 1, busy: 2}, "team/states"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) func() store.Store {
				opts := Options{Prefix: c.prefix, Endpoints: []string{newFake(t, &fake{faults: c.faults})}}
				return func() store.Store { return open(t, opts) }
			})
		})
	}
}

// TestStream: the first bytes of a value are there before the server has sent the
// last ones.
func TestStream(t *testing.T) {
	seen := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"etag"`)
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("first"))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-seen:
			_, _ = w.Write([]byte("later"))
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	body, err := open(t, Options{Endpoints: []string{server.URL}}).Open(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(body, first); err != nil {
		t.Fatal(err)
	}
	close(seen)
	rest, err := io.ReadAll(body)
	if got := string(first) + string(rest); got != "firstlater" || err != nil || body.Size != 10 {
		t.Errorf("read %q of %d, %v", got, body.Size, err)
	}
}

// TestCutShort: a value that does not arrive as a whole is an error, not a value.
func TestCutShort(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"etag"`)
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("first"))
	}))
	defer server.Close()
	s := open(t, Options{Endpoints: []string{server.URL}})
	if rec, err := s.Get(t.Context(), "key"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("get gives %q, %v; want an unexpected end", rec.Data, err)
	}
}

// TestNoETag: what could not be swapped later is not read.
func TestNoETag(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("value")) }))
	defer server.Close()
	if rec, err := open(t, Options{Endpoints: []string{server.URL}}).Get(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "no ETag") {
		t.Errorf("get gives %q, %v; want an error that names the ETag", rec.Data, err)
	}
}

// TestWaysOut: what a person has to see to says what.
func TestWaysOut(t *testing.T) {
	url := newFake(t, &fake{})
	s := open(t, Options{Endpoints: []string{url}})
	s.bucket = "nowhere"
	_, err := s.Get(t.Context(), "key")
	if err == nil || errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "there is no bucket nowhere") {
		t.Errorf("get without a bucket: %v", err)
	}
	if _, err := s.Create(t.Context(), "key", nil); err == nil || errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "there is no bucket nowhere") {
		t.Errorf("create without a bucket: %v", err)
	}
	_, err = open(t, Options{Endpoints: []string{"http://127.0.0.1:1"}}).Get(t.Context(), "key")
	if err == nil || !strings.Contains(err.Error(), "bucket bucket at http://127.0.0.1:1: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("get without a server: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "other")
	_, err = open(t, Options{Endpoints: []string{url}}).Create(t.Context(), "key", nil)
	if err == nil || errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("create without access: %v", err)
	}
}

// TestHungServer: a read is sent once to a server that takes it and does not answer.
func TestHungServer(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		<-r.Context().Done()
	}))
	defer server.Close()
	s, err := openWithin(t.Context(), Options{Bucket: "bucket", Endpoints: []string{server.URL}}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(t.Context(), "key")
	if want := "no answer about bucket bucket at " + server.URL; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("get: %v; want %q", err, want)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestForeignObjects: what others keep below the prefix is not listed.
func TestForeignObjects(t *testing.T) {
	f := &fake{bucket: &bucket{objects: map[string]fakeObject{"a/": {}, "a/b": {}, "a/.hidden": {}, "a/b c/d": {}, "a/b/c": {}}}}
	if names := collect(t, openFake(t, f).List(t.Context(), "a")); !slices.Equal(names, []string{"b"}) {
		t.Errorf("list gives %q, want b alone", names)
	}
}

// TestListAfter: only what follows is asked for.
func TestListAfter(t *testing.T) {
	f := &fake{bucket: &bucket{objects: map[string]fakeObject{}}}
	s := openFake(t, f)
	for _, key := range []string{"a", "b/x", "b/y", "c", "d/z"} {
		f.objects["logs/"+key] = fakeObject{}
	}
	for after, want := range map[string]struct {
		names  []string
		listed int
	}{
		"":  {[]string{"a", "b", "c", "d"}, 4},
		"a": {[]string{"b", "c", "d"}, 3},
		"b": {[]string{"c", "d"}, 3}, // "b/" follows "b"
		"c": {[]string{"d"}, 1},
		"d": {nil, 1},
	} {
		f.listed = 0
		names := collect(t, s.ListAfter(t.Context(), "logs", after))
		if !slices.Equal(names, want.names) || f.listed != want.listed {
			t.Errorf("after %q: %q, of %d that the server listed; want %q of %d", after, names, f.listed, want.names, want.listed)
		}
	}
}

func collect(t *testing.T, list iter.Seq2[string, error]) []string {
	t.Helper()
	var names []string
	for name, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
