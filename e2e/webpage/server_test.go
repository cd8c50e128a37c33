package webpage

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	user     = "mira"
	password = "a-password"
)

var binary string // statesrv

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "webpage")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "statesrv")
	build := exec.Command("go", "build", "-o", binary, "./cmd/statesrv")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("build statesrv: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// server is a running statesrv.
type server struct {
	t   *testing.T
	url string
}

func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	port := filepath.Join(dir, "port")
	cmd := exec.Command(binary, append([]string{"serve", "--data", filepath.Join(dir, "data"), "--user", user,
		"--port", "0", "--port-file", port}, args...)...)
	cmd.Env = []string{"STATESRV_PASSWORD=" + password}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(port); err == nil {
			return &server{t, "http://127.0.0.1:" + strings.TrimSpace(string(text))}
		}
	}
	t.Fatal("statesrv does not start")
	return nil
}

// send sends a request as a client of the http backend does, and wants 200.
func (s *server) send(method, path, body string) string {
	s.t.Helper()
	status, text := s.try(method, path, body)
	if status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return text
}

func (s *server) try(method, path, body string) (status int, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// apply is lock, write and unlock, by who.
func (s *server) apply(name, who string, serial int, resources string) {
	s.t.Helper()
	id := fmt.Sprintf("%s-%d", strings.Split(who, "@")[0], serial)
	s.lock(name, id, who)
	s.send("POST", "/states/"+name+"?ID="+id, document(serial, resources))
	s.send("UNLOCK", "/states/"+name, lockRecord(id, who))
}

func (s *server) lock(name, id, who string) { s.send("LOCK", "/states/"+name, lockRecord(id, who)) }

func lockRecord(id, who string) string {
	return fmt.Sprintf(`{"ID":%q,"Operation":"OperationTypeApply","Who":%q,"Version":"1.12.6","Created":"2026-11-30T08:00:00Z"}`, id, who)
}

func document(serial int, resources string) string {
	return fmt.Sprintf(`{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":"4f0c3a52-1111-2222-3333-0123456789ab",`+
		`"outputs":{"endpoint":{"value":"https://v%d.example.org","type":"string"}},"resources":[%s],"check_results":null}`, serial, serial, resources)
}

func resource(name, attributes string) string {
	return fmt.Sprintf(`{"mode":"managed","type":"cloud_server","name":%q,"provider":"provider[\"registry.opentofu.org/example/cloud\"]",`+
		`"instances":[{"schema_version":0,"attributes":{%s},"sensitive_attributes":[[{"type":"get_attr","value":"login"}]]}]}`, name, attributes)
}

const secret = "do-not-show-this-4711"

// fill makes a few states with a history.
func (s *server) fill() {
	web := `"id":"srv-1","size":"small","login":"` + secret + `","zone":"a"`
	s.apply("prod", "anna@laptop", 1, resource("web", web))
	s.apply("prod", "ben@ci", 2, resource("web", strings.Replace(web, "small", "large", 1))+","+resource("db", `"id":"srv-2","size":"medium"`))
	s.apply("prod", "ben@ci", 3, resource("web", strings.Replace(web, "small", "large", 1)+`,"note":"a long text: `+strings.Repeat("word ", 40)+`"`))
	s.apply("team%2Fnetwork", "anna@laptop", 1, resource("net", `"id":"net-1"`))
	s.apply("staging", "ci", 7, resource("web", web))
	s.send("DELETE", "/states/staging", "")
	s.lock("team%2Fnetwork", "held-0815", "carla@build-7")
}
