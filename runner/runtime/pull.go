package runtime

import (
	"bytes"
	"context"
	"fmt"
)

// PullState reads the state that the backend has, as a document; empty when there is none. It takes no lock, and since it
// changes nothing it is killed as soon as ctx ends. The state holds every secret.
func (r *Runtime) PullState(ctx context.Context) (state []byte, exit Exit, err error) {
	var document bytes.Buffer
	exit, output, err := r.killable(ctx, Args{}.StatePull(), &document)
	switch {
	case err != nil:
		return nil, exit, err
	case exit.Code != 0:
		return nil, exit, fmt.Errorf("state pull: exit %d: %s", exit.Code, lastLines(output.Text(), 5))
	}
	return document.Bytes(), exit, nil
}
