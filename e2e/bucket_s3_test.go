package e2e

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/captf/captf-runner/internal/s3test"
	"github.com/captf/captf-runner/internal/tools"
)

// s3 is a bucket of a real S3 gateway, which keeps its objects as files, and a state in it. Its lock is a file beside
// the state, or an item of a table of DynamoDB.
type s3 struct {
	runtime tools.Runtime
	dir     string // of the bucket
	url     string
	table   *table // nil for a lock file
}

const (
	s3Key      = "object.tfstate"
	s3Lock     = s3Key + ".tflock"
	s3LockItem = "states/" + s3Key
)

func newS3LockFile(t *testing.T, f *fixture) backend { return newS3(t, f) }

func newS3LockTable(t *testing.T, f *fixture) backend {
	s := newS3(t, f)
	s.table = newTable(t)
	return s
}

func newS3(t *testing.T, f *fixture) *s3 {
	t.Helper()
	s := &s3{runtime: f.runtime, dir: filepath.Join(t.TempDir(), "states")}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.url = s3test.Start(t, filepath.Dir(s.dir))
	return s
}

func (s *s3) flags() []string {
	settings := []string{
		"bucket=states", "key=" + s3Key, "region=us-east-1", "access_key=" + s3test.AccessKey, "secret_key=" + s3test.SecretKey,
		"skip_credentials_validation=true", "skip_metadata_api_check=true", "skip_region_validation=true",
		"force_path_style=true",
	}
	endpoints := `s3="` + s.url + `"`
	if s.table == nil {
		settings = append(settings, "use_lockfile=true")
	} else {
		settings = append(settings, "dynamodb_table=locks")
		endpoints += `,dynamodb="` + s.table.url + `"`
	}
	if s.runtime.Name == "tofu" {
		settings = append(settings, "endpoints={"+endpoints+"}", "skip_requesting_account_id=true", "skip_s3_checksum=true")
	} else {
		settings = append(settings, "endpoint="+s.url, "dynamodb_endpoint="+s.table.url)
	}
	flags := []string{"--backend", "s3"}
	for _, setting := range settings {
		flags = append(flags, "--backend-config", setting)
	}
	return flags
}

func (s *s3) state(t *testing.T) []byte { return s.read(t, s3Key) }

// read reads an object, nil if there is none.
func (s *s3) read(t *testing.T, key string) []byte {
	data, err := os.ReadFile(filepath.Join(s.dir, key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}

func (s *s3) holder(t *testing.T) string {
	info := string(s.read(t, s3Lock))
	if s.table != nil {
		info = s.table.info(s3LockItem)
	}
	if info == "" {
		return ""
	}
	var held struct{ ID string }
	if err := json.Unmarshal([]byte(info), &held); err != nil {
		t.Fatal(err)
	}
	return held.ID
}

func (s *s3) hold(t *testing.T, id, who string) {
	if s.table == nil {
		s.upload(t, s3Lock, lockBody(id, who))
		return
	}
	s.table.put(item{"LockID": {"S": s3LockItem}, "Info": {"S": lockBody(id, who)}})
}

// upload stores an object as a client does: a file that was put there by hand would have no ETag to compare.
func (s *s3) upload(t *testing.T, key, text string) {
	t.Helper()
	client := awss3.New(awss3.Options{
		BaseEndpoint: &s.url, UsePathStyle: true, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(s3test.AccessKey, s3test.SecretKey, ""),
	})
	_, err := client.PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: aws.String("states"), Key: &key, Body: strings.NewReader(text),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *s3) release(t *testing.T, _ string) {
	if s.table == nil {
		remove(t, filepath.Join(s.dir, s3Lock))
		return
	}
	s.table.delete(s3LockItem)
}

// table plays a table of DynamoDB, of which no server can be had here: the three calls of the backend of both runtimes.
type table struct {
	mu    sync.Mutex
	url   string
	items map[string]item
}

// item is its attributes: by name, then by type.
type item map[string]map[string]string

func newTable(t *testing.T) *table {
	db := &table{items: map[string]item{}}
	server := httptest.NewServer(db)
	t.Cleanup(server.Close)
	db.url = server.URL
	return db
}

func (db *table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Item, Key           item
		ConditionExpression string
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	answer := map[string]any{}
	switch call {
	case "PutItem":
		if db.info(request.Item["LockID"]["S"]) != "" && request.ConditionExpression != "" {
			w.WriteHeader(http.StatusBadRequest)
			answer["__type"] = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
			answer["message"] = "The conditional request failed"
			break
		}
		db.put(request.Item)
	case "GetItem":
		if found := db.get(request.Key["LockID"]["S"]); found != nil {
			answer["Item"] = found
		}
	case "DeleteItem":
		db.delete(request.Key["LockID"]["S"])
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (db *table) put(i item) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.items[i["LockID"]["S"]] = i
}

func (db *table) get(id string) item {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.items[id]
}

func (db *table) info(id string) string { return db.get(id)["Info"]["S"] }

func (db *table) delete(id string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.items, id)
}
