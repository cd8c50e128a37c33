package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/runner/kube"
)

// documentKind is what a document is about. It is part of its name.
type documentKind string

const (
	resultDocument  documentKind = "result"  // the whole of a result that was shortened
	changesDocument documentKind = "changes" // all that a step is going to change
)

// shelf is a place for documents that outlives what runs: the pod, or the process.
type shelf interface {
	// put keeps a document, and returns the name that it is found by. One that is there, of an earlier pod or run, stays.
	put(ctx context.Context, kind documentKind, document []byte) (where string, err error)
}

// shelves are the places that this run has, the best one first.
func (r *run) shelves() (places []shelf) {
	if c := r.cluster; c != nil && r.opts.JobName != "" && r.opts.JobUID != "" {
		places = append(places, jobShelf{maps: c.client.ConfigMaps(c.client.Namespace()), job: r.opts.JobName, uid: r.opts.JobUID})
	}
	if r.opts.RescueDir != "" && r.rt != nil { // it was looked at
		places = append(places, folder{dir: r.opts.RescueDir, prefix: "captf-"})
	}
	if r.local != nil && r.rt != nil {
		places = append(places, r.resultShelf())
	}
	return places
}

// resultShelf is the folder of a local run's results. What is named after the run's own result is as much its own.
func (r *run) resultShelf() folder {
	f := folder{dir: filepath.Join(r.local.dir, resultsDir), prefix: flat(r.local.name) + "-"}
	if r.opts.ownResult {
		f.prefix, f.latest = filepath.Base(resultStem(r.opts.Result))+"-", true
	}
	return f
}

// ofJob leaves those that go with the Job.
func ofJob(places []shelf) []shelf {
	if len(places) > 0 {
		if _, ok := places[0].(jobShelf); ok {
			return places[:1]
		}
	}
	return nil
}

// jobShelf keeps documents in ConfigMaps <job>-<kind>. They go with their Job: without its UID nothing would ever remove
// them. All that the runner may do with a ConfigMap is create it.
type jobShelf struct {
	maps     kube.ConfigMaps
	job, uid string
}

func (s jobShelf) put(ctx context.Context, kind documentKind, document []byte) (string, error) {
	cm := &kube.ConfigMap{Data: map[string]string{string(kind) + ".json": string(document)}}
	// The runner may not read Jobs, so the UID has to be told.
	cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: s.job, UID: types.UID(s.uid)}}
	cm.Name = s.job + "-" + string(kind)
	made, err := s.maps.Create(ctx, cm, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // an earlier pod's
		cm.Name, cm.GenerateName = "", cm.Name+"-"
		made, err = s.maps.Create(ctx, cm, metav1.CreateOptions{})
	}
	if err != nil {
		return "", fmt.Errorf("ConfigMap %s-%s: %w", s.job, kind, err)
	}
	return made.Name, nil
}

// folder keeps documents in files. Like the result they outlive processes, not machines: to wait for the disk would hold
// up the writes of the result beside them, while resources are being made.
type folder struct {
	dir, prefix string
	latest      bool // of the results only the last one is of interest
}

func (f folder) put(_ context.Context, kind documentKind, document []byte) (string, error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(f.dir, f.prefix+string(kind)+"-*.json")
	if err != nil {
		return "", err
	}
	_, err = file.Write(document)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return "", err
	}
	if f.latest && kind == resultDocument {
		path := filepath.Join(f.dir, f.prefix+string(kind)+".json")
		return path, os.Rename(file.Name(), path)
	}
	return file.Name(), nil
}
