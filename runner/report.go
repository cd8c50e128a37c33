package runner

import (
	"log/slog"
	"os"
	"sync"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// report is the result so far, with what belongs to it, and where it is written.
type report struct {
	log    *slog.Logger
	redact *redact.Redactor

	mu sync.Mutex // guards what follows, up to the file, while a step runs
	*result.Result
	earlier *result.Unsaved // what earlier local runs left to tell, see inherit
	listed  string          // where the list of the step's changes is

	file    *result.File // nil before it is opened, and in a dry run
	claimed *os.File     // the flock of a local run's own result
	saver   saver

	outputs map[string]runtime.Value // for the person at the end of a local run, as are the next
	drifted map[string]string        // see runtime.Output
}

// update changes the result. While a step runs, its output and the looks at the lock do that as well.
func (rp *report) update(change func(*result.Result)) {
	rp.mu.Lock()
	defer rp.mu.Unlock()
	change(rp.Result)
}

// begin has the result written to this file from now on, unless that fails at once.
func (rp *report) begin(file *result.File) error {
	rp.file = file
	err := rp.write(true)
	if err != nil {
		_ = file.Close()
		rp.file = nil
	}
	return err
}

// save writes the result as it is so far, marked as partial.
func (rp *report) save() {
	if err := rp.write(true); err != nil {
		rp.log.Error("the result could not be written", "error", err)
	}
}

// saveSoon is save for what may happen many times in a moment.
func (rp *report) saveSoon() { rp.saver.soon(rp.save) }

func (rp *report) write(partial bool) error {
	if rp.file == nil {
		return nil
	}
	rp.mu.Lock()
	defer rp.mu.Unlock()
	return rp.file.Write(rp.cleaned(), partial)
}

// close gives the file back, and the place where a local run leaves its result by itself.
func (rp *report) close() {
	if rp.file != nil {
		_ = rp.file.Close()
	}
	_ = rp.claimed.Close() // nil is an error
}

// record notes a step in the result and saves the result as it is so far.
func (rp *report) record(name string, exit runtime.Exit, attempt int) {
	s := result.Step{
		Name: name, Exit: exit.Code, Signal: exit.SignalName(), MaxRSSKiB: exit.MaxRSSKiB,
		Seconds: result.Seconds(exit.Duration),
	}
	rp.update(func(res *result.Result) {
		if attempt > 1 {
			s.Attempts = attempt
			res.Steps = res.Steps[:len(res.Steps)-1]
		}
		res.Steps = append(res.Steps, s)
	})
	rp.save()
}

func setHolder(l *result.Lock, info lock.Info) {
	l.ID, l.Who, l.Operation, l.Created = info.ID, info.Who, info.Operation, info.CreatedText
}

// setHolder puts who holds the lock into the result; nil is nobody.
func (rp *report) setHolder(info *lock.Info) {
	if info == nil {
		info = &lock.Info{}
	}
	rp.update(func(res *result.Result) { setHolder(res.Lock, *info) })
}

// holder is who the result says holds the lock.
func (rp *report) holder() lock.Info {
	l := rp.Lock
	return lock.Info{ID: l.ID, Who: l.Who, Operation: l.Operation, CreatedText: l.Created}
}
