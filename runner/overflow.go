package runner

import (
	"context"
	"math"

	"github.com/captf/captf-runner/runner/result"
)

// maxDocument is what a ConfigMap holds, less its metadata, in bytes. No document is larger, wherever it is kept.
const maxDocument = 900 << 10

// overflow keeps a result in full where it outlives the pod, names that place in the small one, and reports whether
// it did. It does so with one that does not fit into a termination message. That of a run that was told to stop goes
// into the Job's ConfigMap in any case: whoever tells a pod to stop most often deletes it, and its termination
// message with it.
func (r *run) overflow() bool {
	full := r.report.cleaned()
	places := r.shelves()
	if len(result.EncodeMax(full, math.MaxInt)) <= result.MaxSize {
		if r.stop.Cause() == nil {
			return false
		}
		places = ofJob(places)
	}
	ctx, cancel := r.look(context.Background())
	defer cancel()
	where := r.keep(ctx, places, resultDocument, result.EncodeMax(full, maxDocument))
	r.report.Document = where
	return where != ""
}

// keep puts a document into the first place that takes it; empty when none does.
func (r *run) keep(ctx context.Context, places []shelf, kind documentKind, document []byte) (where string) {
	for _, place := range places {
		where, err := place.put(ctx, kind, document)
		if err == nil {
			return where
		}
		if ctx.Err() == nil {
			r.log.Warn("a document of this run could not be kept", "document", string(kind), "error", err)
		}
	}
	return ""
}
