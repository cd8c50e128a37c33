package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// hold stops a call at a point where a test has put a gate: the file POINT-NAME in the folder that PROBE_GATES
// names, NAME being the last element of the file's path. It says that it is there by POINT-NAME.reached, and goes on
// when the gate is removed, or with an error when ctx ends (a stop request ends it).
//
// The points are read, plan, and of create, update and delete the one before anything is touched, such as
// before-create, and the one after all is done and before the runtime is told, such as after-create.
func hold(ctx context.Context, point, path string) error {
	dir := os.Getenv("PROBE_GATES")
	if dir == "" {
		return nil
	}
	gate := filepath.Join(dir, point+"-"+filepath.Base(path))
	if !exists(gate) {
		return nil
	}
	if err := os.WriteFile(gate+".reached", nil, 0o644); err != nil {
		return err
	}
	for exists(gate) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
