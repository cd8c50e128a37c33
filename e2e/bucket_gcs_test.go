package e2e

import (
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// gcs is a bucket of Cloud Storage and a state in it. No server of it can be had here: this is the part of its API that
// the backend of both runtimes uses. A lock is an object, and its ID the object's generation.
type gcs struct {
	mu      sync.Mutex
	url     string
	last    int64
	objects map[string]gcsObject
}

type gcsObject struct {
	data       string
	generation int64
}

const gcsState, gcsLock = "default.tfstate", "default.tflock"

func newGCS(t *testing.T, _ *fixture) backend {
	g := &gcs{last: 1_700_000_000_000_000, objects: map[string]gcsObject{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /storage/v1/b/states/o", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{}`) // no other workspaces
	})
	mux.HandleFunc("GET /storage/v1/b/states/o/{name}", g.attributes)
	mux.HandleFunc("DELETE /storage/v1/b/states/o/{name}", g.delete)
	mux.HandleFunc("GET /states/{name}", g.read)
	mux.HandleFunc("POST /upload/storage/v1/b/states/o", g.write)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	g.url = server.URL + "/storage/v1/"
	return g
}

// find answers 404 for an object that is not there.
func (g *gcs) find(w http.ResponseWriter, r *http.Request) (gcsObject, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o, ok := g.objects[r.PathValue("name")]
	if !ok {
		refuse(w, http.StatusNotFound, "No such object: states/"+r.PathValue("name"))
	}
	return o, ok
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": message}})
}

func (g *gcs) attributes(w http.ResponseWriter, r *http.Request) {
	if o, ok := g.find(w, r); ok {
		g.tell(w, r.PathValue("name"), o)
	}
}

func (g *gcs) tell(w http.ResponseWriter, name string, o gcsObject) {
	_ = json.NewEncoder(w).Encode(map[string]string{
		"name": name, "bucket": "states", "generation": strconv.FormatInt(o.generation, 10),
	})
}

func (g *gcs) read(w http.ResponseWriter, r *http.Request) {
	if o, ok := g.find(w, r); ok {
		_, _ = io.WriteString(w, o.data)
	}
}

func (g *gcs) delete(w http.ResponseWriter, r *http.Request) {
	o, ok := g.find(w, r)
	if !ok {
		return
	}
	if want := r.FormValue("ifGenerationMatch"); want != "" && want != strconv.FormatInt(o.generation, 10) {
		refuse(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.objects, r.PathValue("name"))
	w.WriteHeader(http.StatusNoContent)
}

// write takes an upload of two parts: what the object is, and what is in it.
func (g *gcs) write(w http.ResponseWriter, r *http.Request) {
	var parts []string
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	for reader := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := reader.NextPart()
		if err != nil {
			break
		}
		text, _ := io.ReadAll(part)
		parts = append(parts, string(text))
	}
	var about struct{ Name string }
	if len(parts) != 2 || json.Unmarshal([]byte(parts[0]), &about) != nil {
		refuse(w, http.StatusBadRequest, "no upload of two parts")
		return
	}
	o, ok := g.put(about.Name, parts[1], r.FormValue("ifGenerationMatch") == "0")
	if !ok {
		refuse(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
		return
	}
	g.tell(w, about.Name, o)
}

// put stores an object, unless it has to be a new one and is not.
func (g *gcs) put(name, data string, fresh bool) (gcsObject, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.objects[name]; ok && fresh {
		return gcsObject{}, false
	}
	g.last++
	g.objects[name] = gcsObject{data, g.last}
	return g.objects[name], true
}

func (g *gcs) flags() []string {
	return []string{
		"--backend", "gcs", "--backend-config", "bucket=states", "--backend-config", "access_token=t0ken",
		"--backend-config", "storage_custom_endpoint=" + g.url,
	}
}

func (g *gcs) state(*testing.T) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o, ok := g.objects[gcsState]; ok {
		return []byte(o.data)
	}
	return nil
}

func (g *gcs) holder(*testing.T) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o, ok := g.objects[gcsLock]; ok {
		return strconv.FormatInt(o.generation, 10)
	}
	return ""
}

// hold takes the lock, whose ID is a number here.
func (g *gcs) hold(t *testing.T, id, who string) {
	generation, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.objects[gcsLock] = gcsObject{strings.Replace(lockBody(id, who), `"`+id+`"`, `""`, 1), generation}
}

func (g *gcs) release(*testing.T, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.objects, gcsLock)
}
