package runtime

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// PullState reads the state that the backend has, as a document; empty when there is none. It takes no lock, and since it
// changes nothing it is killed as soon as ctx ends. The state holds every secret.
func (r *Runtime) PullState(ctx context.Context) (state []byte, exit Exit, err error) {
	stop := NewStop(0)
	defer context.AfterFunc(ctx, func() { stop.Request(context.Cause(ctx)) })()
	var stdout, stderr bytes.Buffer
	p := Process{
		Command: append(r.Command[:len(r.Command):len(r.Command)], "state", "pull"),
		Dir:     r.Dir, Env: r.Env.Vars, Stdout: &stdout, Stderr: &stderr, Inherited: r.Inherited,
	}
	exit, err = p.Run(context.Background(), stop)
	switch {
	case err != nil:
		return nil, exit, err
	case exit.Code != 0:
		return nil, exit, fmt.Errorf("state pull: exit %d: %s", exit.Code, lastLines(strings.TrimSpace(stderr.String()), 5))
	}
	return stdout.Bytes(), exit, nil
}
