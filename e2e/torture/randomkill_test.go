package torture

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRandomKills kills something of a run at a random moment, up to three runs in a row. After them one ordinary
// run has to find nothing lost, as in the matrix.
func TestRandomKills(t *testing.T) {
	runs := 8
	if whole {
		runs = 200
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	servers := servers{statesrv: startStatesrv(t)}
	for i := range runs {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		c := cell{
			backend: []string{onHTTP, onKubernetes}[i/2%2], runtime: []string{"tofu", "terraform"}[i%2],
			fault: []string{killChild, killRunner, killPod, killProvider}[random.IntN(4)], moment: moment(fmt.Sprint(i)), task: tasks[random.IntN(len(tasks))],
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			newTrial(t, c, servers).killAtRandom(random)
		})
	}
}

// killAtRandom is one object's life with kills in it.
func (tr *trial) killAtRandom(random *rand.Rand) {
	// Each takes a while before it is there: it was announced long before.
	delay := fmt.Sprintf("\n  delay = \"%dms\"", 50+random.IntN(300))
	tr.prepare(tr.task == creates && random.IntN(2) == 0, delay)
	tr.proxy.arrive = true
	var endings []ending
	before := tr.account()
	for i := range 1 + random.IntN(3) {
		name := fmt.Sprint("killed", i)
		file := filepath.Join(tr.dir, name+".json")
		cmd := tr.command(tr.task.op(), filepath.Join(tr.dir, name), file, append(tr.staleLock(), "--lock-timeout", "5", "--stop-timeout", "20")...)
		tr.job = start(tr.t, cmd, tr.does.pod, filepath.Join(tr.dir, name+".log"))
		tr.killSomething(random)
		tr.awaitEnd()
		tr.awaitRequests()
		killed := tr.ending(tr.job, file)
		endings = append(endings, killed)
		before = tr.settle("after "+name, before, killed)
	}
	next := tr.next()
	tr.checkEnd(before, append(endings, next)...)
}

// awaitRequests waits until the server has answered all that a dead run has sent. A lock that is taken after the next one
// has looked whether it is stale is stale for the one after that; the matrix has such requests.
func (tr *trial) awaitRequests() {
	time.Sleep(settleTime)
	if !await(endTimeout, func() bool { return tr.proxy.sent.Load() == 0 }) {
		tr.t.Fatal("a request of the dead run is not answered")
	}
}

// killSomething waits for a random time, and then kills what the cell says, if it is there.
func (tr *trial) killSomething(random *rand.Rand) {
	select {
	case <-time.After(time.Duration(random.Int64N(int64(2 * time.Second)))):
	case <-tr.job.gone:
	}
	var victims []process
	switch tr.fault {
	case killChild:
		victims = tr.job.children()
	case killProvider:
		victims = tr.job.providers()
	default:
		_ = tr.job.cmd.Process.Kill()
	}
	for _, p := range victims {
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
}
