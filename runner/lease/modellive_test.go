package lease_test

import (
	"slices"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/lease"
)

// rounds bounds how long an object waits for its turn when nothing goes wrong any more, each of 10 s: a
// lease without a Job counts for a Grace, and up to three Jobs of a round each end before.
const rounds = 12

func (s state) quiet() bool {
	for _, p := range s.passes {
		if !p.idle() {
			return false
		}
	}
	return true
}

// stuck runs on from s without trouble and names the object that does not get its turn. The machines
// want Jobs for ever, and the cluster one: it must get it in spite of them. After that they must.
func (m model) stuck(s state) string {
	s = s.copy()
	calm := m
	calm.managers = slices.Repeat([][]int{{0, 1, 2}}, len(m.managers))
	calm.jobs = [3]int{s.jobsOf("c") + 1, forEver, forEver}
	for round := 0; s.jobsOf("c") < calm.jobs[0]; round++ {
		if round == rounds {
			return "the cluster never has its turn"
		}
		s = calm.round(s, round)
	}
	before := map[string]int{"m1": s.jobsOf("m1"), "m2": s.jobsOf("m2")}
	for round := 0; s.jobsOf("m1") == before["m1"] || s.jobsOf("m2") == before["m2"]; round++ {
		if round == rounds {
			return "a machine never has its turn"
		}
		s = calm.round(s, round)
	}
	return ""
}

func (s state) jobsOf(object string) int {
	n := 0
	for name := range s.world.jobs {
		if strings.HasPrefix(name, object+"-") {
			n++
		}
	}
	return n
}

// round lets 10 s pass, in which every Job ends, and every manager looks at every object, call by call in
// turn with the others.
func (m model) round(s state, round int) state {
	s.world.now = s.world.now.Add(10 * time.Second)
	for name := range s.world.jobs {
		s.world.jobs[name] = lease.Job{Exists: true, Finished: true}
	}
	begun := make([]int, len(m.managers))
	for busy := true; busy; {
		busy = false
		for manager := range s.passes {
			if s.passes[manager].idle() {
				if begun[manager] == len(objects) {
					continue
				}
				s = m.begin(s, manager, (begun[manager]+manager+round)%len(objects))
				begun[manager]++
			}
			s = m.step(s, manager, true, true)
			busy = true
		}
	}
	return s
}
