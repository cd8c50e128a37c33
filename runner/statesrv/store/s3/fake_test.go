package s3

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a server for the objects of one bucket, with the faults that a real one
// does not produce on demand.
type fake struct {
	*bucket
	faults
	mu     sync.Mutex // makes a check and its write one step on this server
	puts   []string   // the write ids of the PUTs that arrived
	listed int        // entries that lists gave
}

// bucket is what several servers may share.
type bucket struct {
	mu      sync.Mutex
	objects map[string]fakeObject
}

type fakeObject struct {
	data     []byte
	etag, id string
}

// faults are switches, and counts of how often something happens.
type faults struct {
	ignoreCreate, ignoreSwap bool // the condition
	racy                     bool // a moment between check and write, not one step
	slow                     bool // a moment between check and write, in one step
	absent404                bool // If-Match on what is absent is 404, not 412
	unquoted                 bool // ETags
	noMetadata               bool // is kept
	noHead                   bool // HEAD is forbidden
	refuse                   int  // the status of every conditional PUT

	busy     int                         // PUTs that are answered 409
	lost     int                         // PUTs that are done and then answered 503
	cut      int                         // PUTs that are done and whose connection is cut
	dropped  int                         // PUTs that are answered 503 and not done
	twice    int                         // PUTs that something on the way sends again
	pageSize int                         // of lists; 0 is 1000
	then     func(b *bucket, key string) // happens before a PUT is answered
	second   func(b *bucket, key string) // happens when a PUT arrives for the second time
}

func newFake(t *testing.T, f *fake) (url string) {
	if f.bucket == nil {
		f.bucket = &bucket{objects: map[string]fakeObject{}}
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/"):
		fail(w, http.StatusForbidden, "AccessDenied")
	case name != "bucket":
		fail(w, http.StatusNotFound, "NoSuchBucket")
	case r.Method == http.MethodPut:
		f.put(w, r, key)
	case r.Method == http.MethodHead && f.noHead:
		fail(w, http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodGet && key == "":
		f.list(w, r)
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		f.get(w, r, key)
	case r.Method == http.MethodDelete:
		f.bucket.mu.Lock()
		defer f.bucket.mu.Unlock()
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	}
}

func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as asked</Message></Error>", code)
}

func (f *fake) get(w http.ResponseWriter, r *http.Request, key string) {
	f.bucket.mu.Lock()
	o, ok := f.objects[key]
	f.bucket.mu.Unlock()
	if !ok {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", f.tag(o))
	w.Header().Set("x-amz-meta-"+idField, o.id)
	w.Header().Set("Content-Length", fmt.Sprint(len(o.data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(o.data)
	}
}

func (f *fake) tag(o fakeObject) string {
	if f.unquoted {
		return o.etag
	}
	return `"` + o.etag + `"`
}

func (f *fake) put(w http.ResponseWriter, r *http.Request, key string) {
	data, err := io.ReadAll(r.Body)
	// What only AWS understands must not be sent.
	if err != nil || len(r.Header.Get("x-amz-content-sha256")) != sha256.Size*2 || r.Header.Get("x-amz-checksum-crc32") != "" {
		fail(w, http.StatusBadRequest, "InvalidRequest")
		return
	}
	sum := md5.Sum(data)
	o := fakeObject{data: data, etag: hex.EncodeToString(sum[:]), id: r.Header.Get("x-amz-meta-" + idField)}
	f.mu.Lock()
	again := slices.Contains(f.puts, o.id)
	f.puts = append(f.puts, o.id)
	f.mu.Unlock()
	if again && f.second != nil {
		f.second(f.bucket, key)
	}
	if f.noMetadata {
		o.id = ""
	}
	switch {
	case f.take(&f.busy):
		fail(w, http.StatusConflict, "ConditionalRequestConflict")
		return
	case f.take(&f.dropped):
		f.meanwhile(key)
		fail(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case f.refuse != 0:
		fail(w, f.refuse, "NotImplemented")
		return
	}
	status := f.write(r.Header, key, o)
	if status == http.StatusOK && f.take(&f.twice) {
		status = f.write(r.Header, key, o)
	}
	f.meanwhile(key)
	f.answer(w, status, o)
}

func (f *fake) answer(w http.ResponseWriter, status int, o fakeObject) {
	switch {
	case status == http.StatusNotFound:
		fail(w, status, "NoSuchKey")
	case status != http.StatusOK:
		fail(w, status, "PreconditionFailed")
	case f.take(&f.lost):
		fail(w, http.StatusServiceUnavailable, "SlowDown")
	case f.take(&f.cut):
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("ETag", f.tag(o))
	}
}

func (f *fake) meanwhile(key string) {
	if f.then != nil {
		f.then(f.bucket, key)
	}
}

// play starts over with these faults.
func (f *fake) play(faults faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.puts = faults, nil
}

// take counts down, and reports whether there was something left.
func (f *fake) take(count *int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	*count--
	return *count >= 0
}

// write checks the condition, stores o and returns the status.
func (f *fake) write(condition http.Header, key string, o fakeObject) int {
	if !f.racy {
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	f.bucket.mu.Lock()
	now, exists := f.objects[key]
	f.bucket.mu.Unlock()
	match := condition.Get("If-Match")
	if match == `""` { // as some servers have it
		match = ""
	}
	switch {
	case condition.Get("If-None-Match") == "*" && exists && !f.ignoreCreate:
		return http.StatusPreconditionFailed
	case match != "" && !exists && f.absent404:
		return http.StatusNotFound
	case match != "" && !f.ignoreSwap && (!exists || match != `"`+now.etag+`"`):
		return http.StatusPreconditionFailed
	}
	if f.racy || f.slow {
		time.Sleep(5 * time.Millisecond)
	}
	f.bucket.mu.Lock()
	f.objects[key] = o
	f.bucket.mu.Unlock()
	return http.StatusOK
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	type entry struct{ Key string }
	type group struct{ Prefix string }
	var result struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Contents              []entry
		CommonPrefixes        []group
		IsTruncated           bool
		NextContinuationToken string
	}
	q := r.URL.Query()
	after := max(q.Get("continuation-token"), q.Get("start-after"))
	f.bucket.mu.Lock()
	defer f.bucket.mu.Unlock()
	last := ""
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		rest, ok := strings.CutPrefix(key, q.Get("prefix"))
		dir, _, nested := strings.Cut(rest, "/")
		if nested {
			key = q.Get("prefix") + dir + "/"
		}
		if !ok || key <= after || key == last {
			continue
		}
		if f.pageSize > 0 && len(result.Contents)+len(result.CommonPrefixes) == f.pageSize {
			result.IsTruncated, result.NextContinuationToken = true, last
			break
		}
		if last = key; nested {
			result.CommonPrefixes = append(result.CommonPrefixes, group{key})
		} else {
			result.Contents = append(result.Contents, entry{key})
		}
	}
	f.listed += len(result.Contents) + len(result.CommonPrefixes)
	_ = xml.NewEncoder(w).Encode(result)
}
