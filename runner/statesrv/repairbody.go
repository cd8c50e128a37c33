package statesrv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// headless returns a file by which a state without a head must have had one, "" for
// none; of versions it is the newest. The bytes of version 1 alone show nothing: the
// first write makes them before the head. A person's hand, or a rule of a bucket, can
// take a record away.
func (s *States) headless(ctx context.Context, name string) (string, error) {
	for file, err := range s.store.List(ctx, dirOf(name)) {
		if err != nil {
			return "", err
		}
		if file == versionsFile || file == stateFile {
			return file, nil
		}
	}
	bodies, err := s.listBodies(ctx, name)
	newest := 1
	for n := range bodies {
		newest = max(newest, n)
	}
	if newest == 1 {
		return "", err
	}
	return versionsDir + "/" + bodies[newest][0], err
}

var bodyPattern = regexp.MustCompile(`^([0-9]{6,})(-[a-z0-9]+)?\.tfstate$`)

// listBodies returns the files with versions' bytes, by number.
func (s *States) listBodies(ctx context.Context, name string) (map[int][]string, error) {
	bodies := map[int][]string{}
	for file, err := range s.store.List(ctx, dirOf(name)+"/"+versionsDir) {
		if err != nil {
			return nil, err
		}
		if m := bodyPattern.FindStringSubmatch(file); m != nil {
			n, _ := strconv.Atoi(m[1])
			bodies[n] = append(bodies[n], file)
		}
	}
	return bodies, nil
}

// bodies removes the bytes of the write that a crash has interrupted and of pruned
// versions, keeps aside others that the head does not know, and misses those of
// versions.
func (r *repair) bodies(ctx context.Context, name string, h *head) error {
	bodies, err := r.listBodies(ctx, name)
	if err != nil {
		return err
	}
	for n := h.Pruned + 1; n <= h.Last; n++ {
		if len(bodies[n]) == 0 {
			r.damaged(name, fmt.Errorf("the bytes of version %d are missing", n))
		}
	}
	listed, err := r.listed(ctx, name)
	if err != nil {
		return err
	}
	for _, n := range slices.Sorted(maps.Keys(bodies)) {
		if err := r.orphans(ctx, h, n, listed, bodies[n]); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the number of the last version in versions.json, 0 for none.
func (r *repair) listed(ctx context.Context, name string) (last int, err error) {
	if r.plain == nil {
		return 0, nil
	}
	err = r.plain.Files(ctx, dirOf(name), func(f store.Files) error {
		last, err = mirrored(f)
		return err
	})
	return last, err
}

// orphans deals with the bodies of number n that its entry does not name.
func (r *repair) orphans(ctx context.Context, h *head, n, listed int, files []string) error {
	named, err := r.namedBody(ctx, h, n, files)
	if err != nil {
		return err
	}
	why := worthless(h, n, listed)
	for _, file := range files {
		switch {
		case file == named:
		case why == "":
			err = errors.Join(err, r.keepBody(ctx, h.State, file))
		default:
			errRemove := r.store.Remove(ctx, bodyKey(h.State, file))
			if errRemove == nil {
				r.found(h.State, "removed %s/%s: %s", versionsDir, file, why)
			}
			err = errors.Join(err, errRemove)
		}
	}
	return err
}

// worthless says why bytes of number n that no entry names may go, "" if they must
// stay: an older head that a person has put back does not know the newer versions.
// Only the next number can be of a write that a crash has interrupted, and only
// while versions.json, which is written after the head, does not list it.
func worthless(h *head, n, listed int) string {
	switch {
	case n >= 1 && n <= h.Pruned:
		return "bytes of a pruned version"
	case n == h.Last+1 && listed <= h.Last && (listed > 0 || h.Last == 0):
		return "bytes without an entry, of a write that was not finished"
	}
	return ""
}

// namedBody returns which of the files has the bytes of version n, "" for none. Only
// a number with several bodies needs its entry to be read.
func (r *repair) namedBody(ctx context.Context, h *head, n int, files []string) (string, error) {
	switch {
	case n <= h.Pruned || n > h.Last:
		return "", nil
	case len(files) == 1:
		return files[0], nil
	}
	v, err := r.version(ctx, h, n)
	return v.Body, err
}

func (r *repair) keepBody(ctx context.Context, name, file string) error {
	if r.plain == nil {
		return nil // it is in nobody's way
	}
	return r.plain.Files(ctx, dirOf(name), func(f store.Files) error {
		return r.keep(name, f, versionsDir+"/"+file, "the head record does not know it")
	})
}

// keepNewer keeps aside the files for people that tell of versions after the head's.
func (r *repair) keepNewer(name string, f store.Files, h *head, last int) error {
	for _, file := range []string{stateFile, versionsFile} {
		have, err := f.Tail(file, 1)
		if err == nil && have != nil {
			err = r.keep(name, f, file, fmt.Sprintf("it says version %d, head.json says %d; if that is an older one, put the newer back", last, h.Last))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep gives a file a name that nothing else uses.
func (r *repair) keep(name string, f store.Files, file, why string) error {
	aside := file + ".kept-" + r.now().Format("20060102T150405Z")
	if err := f.Rename(file, aside); err != nil {
		return err
	}
	r.findings = append(r.findings, Finding{State: name, Kept: true, Text: fmt.Sprintf("kept %s as %s: %s", file, aside, why)})
	return nil
}
