package lease_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/runner/lease"
)

// world is an API server in memory with the real one's semantics: creating what exists, writing an old
// version and a precondition that does not hold are refused. Objects in it are never changed, only
// replaced, so that a copy of the maps is a copy of the world.
type world struct {
	now     time.Time
	version int
	leases  map[string]*coordinationv1.Lease
	jobs    map[string]lease.Job
}

func newWorld() *world {
	return &world{
		now:    time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
		leases: map[string]*coordinationv1.Lease{},
		jobs:   map[string]lease.Job{},
	}
}

func (w *world) copy() *world {
	c := *w
	c.leases, c.jobs = maps.Clone(w.leases), maps.Clone(w.jobs)
	return &c
}

// request is one call of the API; answer is what came back, and when.
type request struct {
	verb          string // get, list, create, update, delete of leases; job, jobs, newjob of Jobs
	name          string
	lease         *coordinationv1.Lease
	preconditions *metav1.Preconditions
	selector      string
	before        time.Time // the deadline of newjob
}

func (r request) writes() bool {
	switch r.verb {
	case "create", "update", "delete", "newjob":
		return true
	}
	return false
}

type answer struct {
	lease *coordinationv1.Lease
	list  []coordinationv1.Lease
	job   lease.Job
	jobs  map[string]lease.Job // those whose name begins with the one asked for
	err   error
	now   time.Time
}

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (w *world) do(r request) answer {
	a := answer{now: w.now}
	found := w.leases[r.name]
	switch r.verb {
	case "job":
		a.job = w.jobs[r.name]
	case "jobs":
		a.jobs = map[string]lease.Job{}
		for name, job := range w.jobs {
			if strings.HasPrefix(name, r.name) {
				a.jobs[name] = job
			}
		}
	case "newjob":
		if _, exists := w.jobs[r.name]; !exists && w.now.Before(r.before) {
			w.jobs[r.name] = lease.Job{Exists: true}
		}
	case "list":
		a.list = w.list(r.selector)
	case "create":
		if found != nil {
			a.err = apierrors.NewAlreadyExists(leaseResource, r.name)
			return a
		}
		a.lease = w.store(r.lease, true)
	default:
		if found == nil {
			a.err = apierrors.NewNotFound(leaseResource, r.name)
			return a
		}
		a.lease, a.err = w.change(r, found)
	}
	return a
}

func (w *world) change(r request, found *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	conflict := apierrors.NewConflict(leaseResource, r.name, nil)
	switch r.verb {
	case "update":
		if r.lease.ResourceVersion != found.ResourceVersion || r.lease.UID != found.UID {
			return nil, conflict
		}
		return w.store(r.lease, false), nil
	case "delete":
		if p := r.preconditions; p != nil &&
			(p.UID != nil && *p.UID != found.UID || p.ResourceVersion != nil && *p.ResourceVersion != found.ResourceVersion) {
			return nil, conflict
		}
		delete(w.leases, r.name)
	}
	return found, nil
}

func (w *world) store(l *coordinationv1.Lease, isNew bool) *coordinationv1.Lease {
	w.version++
	l = l.DeepCopy()
	l.ResourceVersion = strconv.Itoa(w.version)
	if isNew {
		l.UID = types.UID("u" + l.ResourceVersion)
		l.CreationTimestamp = metav1.NewTime(w.now)
	}
	w.leases[l.Name] = l
	return l
}

func (w *world) list(selector string) []coordinationv1.Lease {
	match, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	var items []coordinationv1.Lease
	for _, name := range slices.Sorted(maps.Keys(w.leases)) {
		if l := w.leases[name]; match.Matches(labels.Set(l.Labels)) {
			items = append(items, *l)
		}
	}
	return items
}
