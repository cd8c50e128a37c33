package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/go-version"
	tfjson "github.com/hashicorp/terraform-json"

	"github.com/captf/captf-runner/runner/result"
)

// maxVersion is the most that a runtime says about its version, in bytes: it lists the providers, too.
const maxVersion = 1 << 20

// maxMessage is the most of what it prints instead that is worth a log line, in bytes.
const maxMessage = 256

var errNoVersion = errors.New("it prints more than 1 MiB")

// Version asks the runtime for its version. What is no version is an error: such a program is no
// runtime. One that does not stop talking is killed.
func (r *Runtime) Version(ctx context.Context) (*version.Version, error) {
	ctx, cancel := r.Stop.Context(ctx)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	document := &bounded{most: maxVersion, full: func() { giveUp(errNoVersion) }}
	exit, output, err := r.killable(ctx, Args{}.Version(), document)
	switch {
	case err != nil:
		return nil, err
	case document.over:
		return nil, errNoVersion
	case exit.Code != 0 && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case exit.Signal != 0:
		return nil, fmt.Errorf("ended by %s", exit.SignalName())
	case exit.Code != 0:
		return nil, fmt.Errorf("exit %d: %s", exit.Code, result.Cut(lastLines(output.Text(), 1), maxMessage))
	}
	var out tfjson.VersionOutput
	if err := json.Unmarshal(document.kept, &out); err != nil {
		return nil, err
	}
	v, err := version.NewVersion(out.Version)
	if err != nil {
		return nil, errors.New(result.Cut(err.Error(), maxMessage)) // it holds what was printed
	}
	return v, nil
}

// bounded keeps what is written to it, up to a bound, and says when there is more.
type bounded struct {
	kept []byte
	most int // in bytes
	full func()
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || len(b.kept)+len(p) > b.most; b.over {
		b.full()
	} else {
		b.kept = append(b.kept, p...)
	}
	return len(p), nil
}
