package runner

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/captf/captf-runner/runner/lock"
)

// maxLockBody is the most that a runtime sends about its lock, in bytes.
const maxLockBody = 1 << 20

// lockNote is the file that names the locks which children of this working directory asked for. A child that is refused
// because another one has left its lock must not make that one forgotten.
func (w workspace) lockNote() string { return filepath.Join(w.dir, ".lock-id") }

// noteLocks writes down which lock a child asks for, before the server can grant it. The server of a local run ends with
// its runner, and when both are killed nobody else knows that the holder of the lock is dead.
func noteLocks(next http.Handler, note, secret string, onFault func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if _, password, _ := request.BasicAuth(); request.Method == "LOCK" && password == secret {
			body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxLockBody))
			if err != nil {
				http.Error(w, "the body did not arrive: "+err.Error(), http.StatusBadRequest)
				return
			}
			if info, odd := lock.ParseInfo(string(body)); odd == nil {
				if err := appendLine(note, info.ID); err != nil {
					onFault(err)
					http.Error(w, "the lock could not be written down: "+err.Error(), http.StatusServiceUnavailable)
					return
				}
			}
			request.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, request)
	})
}

func appendLine(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}
