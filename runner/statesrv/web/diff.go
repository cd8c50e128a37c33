package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/captf/captf-runner/runner/explain"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/statesrv"
)

const (
	maxDiffs   = 1        // at a time, for each keeps a state's resources in memory
	maxState   = 16 << 20 // bytes of each state: memory and time are many times that
	maxChanges = 500      // of each kind that a page shows
)

type diffView struct {
	frame
	Name          string
	Before, After statesrv.Version
	Diff          *explain.Difference
	// Hidden is how many changes there are beyond those on the page.
	Hidden int
}

// diff shows what differs between two versions, the older one first.
func (p *pages) diff(w http.ResponseWriter, r request) error {
	a, errA := strconv.Atoi(r.URL.Query().Get("a"))
	b, errB := strconv.Atoi(r.URL.Query().Get("b"))
	if errA != nil || errB != nil || a == b {
		return &statesrv.Refusal{Status: http.StatusBadRequest, Message: "choose two different versions to compare"}
	}
	select {
	case p.diffs <- struct{}{}:
		defer func() { <-p.diffs }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	v := diffView{frame: p.frame(r, r.name), Name: r.name}
	if err := p.compare(r.Context(), &v, min(a, b), max(a, b)); err != nil {
		return err
	}
	v.bound()
	p.render(w, http.StatusOK, "diff", v)
	return nil
}

func (p *pages) compare(ctx context.Context, v *diffView, a, b int) error {
	before, err := p.states.ReadVersion(ctx, v.Name, a)
	if err != nil {
		return err
	}
	defer before.Close()
	after, err := p.states.ReadVersion(ctx, v.Name, b)
	if err != nil {
		return err
	}
	defer after.Close()
	v.Before, v.After = before.Version, after.Version
	if large := max(before.Version.Bytes, after.Version.Bytes); large > maxState {
		return &statesrv.Refusal{Status: http.StatusUnprocessableEntity, Message: fmt.Sprintf(
			"a state of %d bytes is too large to be compared here, where the limit is %d: use statesrv diff ADDRESS %d %d", large, maxState, a, b)}
	}
	v.Diff, err = explain.Diff(whileWanted{ctx, before}, whileWanted{ctx, after})
	var unreadable *state.Error
	if errors.As(err, &unreadable) {
		return &statesrv.Refusal{Status: http.StatusUnprocessableEntity, Message: err.Error()}
	}
	return err
}

// whileWanted ends a comparison whose client is gone: it compares while it reads.
type whileWanted struct {
	ctx context.Context
	io.Reader
}

func (r whileWanted) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// bound cuts lists that nobody would read to the end.
func (v *diffView) bound() {
	d := v.Diff
	d.Added, v.Hidden = cut(d.Added, v.Hidden)
	d.Removed, v.Hidden = cut(d.Removed, v.Hidden)
	d.Moved, v.Hidden = cut(d.Moved, v.Hidden)
	d.Changed, v.Hidden = cut(d.Changed, v.Hidden)
	d.Outputs, v.Hidden = cut(d.Outputs, v.Hidden)
}

func cut[T any](all []T, hidden int) ([]T, int) {
	kept := min(len(all), maxChanges)
	return all[:kept], hidden + len(all) - kept
}
