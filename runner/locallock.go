package runner

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/captf/captf-runner/runner/lock"
)

// maxLockBody is the most that a runtime sends about its lock, in bytes.
const maxLockBody = 1 << 20

// lockNote is the file that names the lock which a child of this working directory asked for last.
func (w workspace) lockNote() string { return filepath.Join(w.dir, ".lock-id") }

// noteLocks writes down which lock a child asks for, before the server can grant it. The server of a local run ends with
// its runner, and when both are killed nobody else knows that the holder of the lock is dead.
func noteLocks(next http.Handler, note, secret string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if _, password, _ := request.BasicAuth(); request.Method == "LOCK" && password == secret {
			body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxLockBody))
			if info, bad := lock.ParseInfo(string(body)); err == nil && bad == nil {
				err = os.WriteFile(note, []byte(info.ID), 0o600)
			}
			if err != nil {
				http.Error(w, "the lock could not be written down: "+err.Error(), http.StatusServiceUnavailable)
				return
			}
			request.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, request)
	})
}

// adoptDeadLock takes the lock that an earlier local run left for one that was handed down. This run has the working
// directory, so every process of the earlier one is gone; and it is the very lock that one of them asked for.
func (r *run) adoptDeadLock(ctx context.Context) {
	if r.local == nil || r.opts.ForceUnlock != "" {
		return
	}
	id, err := os.ReadFile(r.work.lockNote())
	if err != nil || len(id) == 0 {
		return
	}
	ctx, cancel := r.lookAhead(ctx)
	defer cancel()
	holder, err := r.keeper.Holder(ctx)
	if err != nil || holder == nil || holder.ID != string(id) {
		return
	}
	r.log.Warn("an earlier run was killed and left the state locked: its lock is released first", "holder", holder.String())
	r.opts.ForceUnlock = holder.ID
}
