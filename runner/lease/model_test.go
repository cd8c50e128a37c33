package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// The model: two managers reconcile one cluster and two machines, one object at a time each, as the
// replicas of a controller do while the leadership moves. A step is one call of the API by one of
// them, a Job that ends, or a jump of the clock. The test visits every state that any order of the steps
// can reach, runs the real Gate in it, and looks for two Jobs that must not run at once. From every
// state in which no pass is under way it also runs on without trouble, and expects every object to
// have its turn.
//
// What a pass does next depends on the answers that it got and on nothing else. So a pass under way is
// just the list of its answers: its next call is found by running it again and handing it those.

var objects = []naming.Object{
	{Kind: naming.Cluster, Namespace: "ns", Name: "c", Cluster: "c"},
	{Kind: naming.Machine, Namespace: "ns", Name: "m1", Cluster: "c"},
	{Kind: naming.Machine, Namespace: "ns", Name: "m2", Cluster: "c"},
}

const forEver = 1 << 20

// model says what may happen.
type model struct {
	managers [][]int // the objects of each
	ownNames bool    // each manager has names of its own for the Jobs, as when it sees newer inputs
	keeps    bool    // no manager gives the leases of a finished Job back
	jobs     [3]int  // how many Jobs each object wants
	faults   int     // calls that fail; a write may have been carried out all the same
	jumps    int     // of the clock, beyond the Grace
}

// state is a state of the model. It is never changed, only copied.
type state struct {
	world  *world
	passes []pass // of each manager
	faults int
	jumps  int
	// intruders counts the leases that machines took while the cluster's was live.
	intruders int
}

// pass is a reconcile pass under way; idle when it has no answers yet.
type pass struct {
	object  int
	answers []answer
	call    request // the next one
}

func (p pass) idle() bool { return len(p.answers) == 0 }

func (s state) copy() state {
	s.world = s.world.copy()
	s.passes = append([]pass(nil), s.passes...)
	return s
}

// reconcile is one pass over an object: nothing while a Job runs; the leases of a finished Job are given
// back; then the next Job is started, if one is wanted.
func (m model) reconcile(c *client, manager, object int) {
	ctx, name := context.Background(), objects[object].Name
	listed := c.call(request{verb: "jobs", name: name + "-"})
	if listed.err != nil {
		return
	}
	claim := lease.Claim{Object: objects[object], Op: naming.Apply, Deadline: time.Hour}
	attempt := len(listed.jobs)
	for job, is := range listed.jobs {
		if !is.Finished {
			return
		}
		if job > claim.Job {
			claim.Job = job
		}
	}
	if attempt > 0 && !m.keeps && c.gate().Leave(ctx, claim) != nil {
		return
	}
	if attempt >= m.jobs[object] {
		return
	}
	claim.Job = fmt.Sprintf("%s-a%03d", name, attempt)
	if m.ownNames {
		claim.Job += fmt.Sprintf("-%d", manager)
	}
	admission, err := c.gate().Enter(ctx, claim)
	if err == nil && admission.Admitted() {
		c.call(request{verb: "newjob", name: claim.Job, before: admission.CreateBefore})
	}
}

// resume returns p with its next call, or an idle pass when it has ended.
func (m model) resume(manager int, p pass) (next pass) {
	answers := p.answers
	c := &client{}
	c.do = func(r request) answer {
		if len(answers) == 0 {
			next = pass{object: p.object, answers: p.answers, call: r}
			panic(&next)
		}
		a := answers[0]
		answers = answers[1:]
		return a
	}
	defer func() {
		if r := recover(); r != nil && r != any(&next) {
			panic(r)
		}
	}()
	m.reconcile(c, manager, p.object)
	return pass{}
}

var errLost = errors.New("connection reset by peer")

// step carries out the next call of a manager's pass.
func (m model) step(s state, manager int, carriedOut, answered bool) state {
	s = s.copy()
	p := s.passes[manager]
	a := answer{now: s.world.now}
	if carriedOut {
		live := s.clusterLive()
		a = s.world.do(p.call)
		if live && a.err == nil && objects[p.object].Kind != naming.Cluster && (p.call.verb == "create" || p.call.verb == "update") {
			s.intruders++
		}
	}
	if !answered {
		a = answer{now: s.world.now, err: errLost}
	}
	p.answers = append(p.answers[:len(p.answers):len(p.answers)], a)
	s.passes[manager] = m.resume(manager, p)
	if !s.clusterLive() {
		s.intruders = 0
	}
	return s
}

// begin makes a manager begin a pass; that is no step of its own.
func (m model) begin(s state, manager, object int) state {
	s.passes = append([]pass(nil), s.passes...)
	s.passes[manager] = m.resume(manager, pass{object: object})
	return s
}

func (s state) clusterLive() bool {
	l := s.world.leases[naming.ClusterLease("ns", "c")]
	if l == nil {
		return false
	}
	r := lease.FromLease(l)
	return lease.Judge(r, s.world.jobs[r.Job], s.world.now) == lease.Live
}

// successors are all the states that one step leads to.
func (m model) successors(s state) []state {
	var next []state
	for manager, p := range s.passes {
		if !p.idle() {
			next = append(next, m.outcomes(s, manager)...)
			continue
		}
		for _, object := range m.managers[manager] {
			next = append(next, m.outcomes(m.begin(s, manager, object), manager)...)
		}
	}
	for name, job := range s.world.jobs {
		if !job.Finished {
			t := s.copy()
			t.world.jobs[name] = lease.Job{Exists: true, Finished: true}
			next = append(next, t)
		}
	}
	if s.jumps < m.jumps {
		t := s.copy()
		t.jumps++
		t.world.now = t.world.now.Add(lease.Grace + time.Second)
		next = append(next, t)
	}
	return next
}

// outcomes are the states after a manager's next call: it succeeds, or it is lost, or only its answer.
func (m model) outcomes(s state, manager int) []state {
	next := []state{m.step(s, manager, true, true)}
	if s.faults == m.faults {
		return next
	}
	s.faults++
	next = append(next, m.step(s, manager, false, false))
	if s.passes[manager].call.writes() {
		next = append(next, m.step(s, manager, true, false))
	}
	return next
}

// broken names the rule that a state breaks.
func (m model) broken(s state) string {
	running := map[byte]int{}
	for name, job := range s.world.jobs {
		if !job.Finished {
			running[name[0]]++
			running[name[1]]++ // 1 and 2 of m1 and m2
		}
	}
	switch {
	case running['c'] > 1 || running['1'] > 1 || running['2'] > 1:
		return "two Jobs of one object run"
	case running['c'] > 0 && running['m'] > 0:
		return "a Job of the cluster and one of a machine run"
	case s.intruders > len(m.managers)-1:
		return "machines keep taking leases from under the cluster"
	}
	return ""
}

func TestModel(t *testing.T) {
	everything, pair := []int{0, 1, 2}, []int{0, 1}
	models := []struct {
		name  string
		large bool
		model
	}{
		{"whole", false, model{managers: [][]int{everything, everything}, jobs: [3]int{1, 1, 1}, keeps: true}},
		{"given back", false, model{managers: [][]int{pair, pair}, jobs: [3]int{1, 1}}},
		{"lost answers", false, model{managers: [][]int{pair, pair}, jobs: [3]int{1, 1}, keeps: true, faults: 1}},
		{"late", false, model{managers: [][]int{{0}, {1}}, jobs: [3]int{1, 1}, keeps: true, jumps: 1}},
		{"two for a machine", false, model{managers: [][]int{{1}, {1}}, jobs: [3]int{0, 1}, ownNames: true, faults: 1, jumps: 1}},
		{"two for a cluster", false, model{managers: [][]int{{0}, {0}}, jobs: [3]int{1}, ownNames: true, keeps: true, faults: 1, jumps: 1}},

		{"whole, given back", true, model{managers: [][]int{everything, everything}, jobs: [3]int{1, 1, 1}}},
		{"whole, lost answers", true, model{managers: [][]int{everything, everything}, jobs: [3]int{1, 1, 1}, keeps: true, faults: 1}},
		{"given back, lost answers", true, model{managers: [][]int{pair, pair}, jobs: [3]int{1, 1}, faults: 2}},
		{"again", true, model{managers: [][]int{pair, pair}, jobs: [3]int{2, 2}}},
		{"very late", true, model{managers: [][]int{{0}, {1}}, jobs: [3]int{1, 1}, faults: 1, jumps: 2}},
		{"late, both for both", true, model{managers: [][]int{pair, pair}, jobs: [3]int{1, 1}, keeps: true, jumps: 1}},
		{"late, newer inputs", true, model{managers: [][]int{pair, pair}, jobs: [3]int{1, 1}, keeps: true, ownNames: true, jumps: 1}},
		{"three, lost answers", true, model{managers: [][]int{{0}, {1}, {1}}, jobs: [3]int{1, 1}, faults: 1}},
	}
	for _, m := range models {
		if m.large && !torture {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.explore(t)
		})
	}
}

// explore visits every state, and prints the way to the first one that is wrong.
func (m model) explore(t *testing.T) {
	first := state{world: newWorld(), passes: make([]pass, len(m.managers))}
	from := map[string]string{m.key(first): ""} // each state, and the one that it was reached from
	todo := []state{first}
	quiet := 0
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if why := m.broken(s); why != "" {
			t.Fatalf("%s after %d states:\n%s", why, len(from), way(from, m.key(s)))
		}
		if s.quiet() {
			quiet++
			if why := m.stuck(s); why != "" {
				t.Fatalf("%s after %d states:\n%s", why, len(from), way(from, m.key(s)))
			}
		}
		for _, n := range m.successors(s) {
			if k := m.key(n); !seen(from, k) {
				from[k] = m.key(s)
				todo = append(todo, n)
			}
		}
	}
	t.Logf("%d states, %d of them without a pass under way", len(from), quiet)
}

func seen(from map[string]string, key string) bool {
	_, ok := from[key]
	return ok
}

func way(from map[string]string, key string) string {
	text := ""
	for ; key != ""; key = from[key] {
		text = key + "\n" + text
	}
	return text
}
