package statesrv

import (
	"slices"
	"sync"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// headCache has the heads that this process has stored last, so that they need not
// be decoded again. It decides nothing: a head is taken only for the revision that
// the store has just given.
type headCache struct {
	mu     sync.Mutex
	byName map[string]cachedHead
}

type cachedHead struct {
	rev  store.Revision
	head *head
}

// cachedHeads bounds the memory; a head has some kilobytes.
const cachedHeads = 256

func (c *headCache) get(name string, rev store.Revision) (*head, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.byName[name]
	if !ok || cached.rev != rev {
		return nil, false
	}
	return cached.head.clone(), true
}

func (c *headCache) put(name string, rev store.Revision, h *head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]cachedHead{}
	}
	if _, ok := c.byName[name]; !ok && len(c.byName) >= cachedHeads {
		for other := range c.byName { // any will do
			delete(c.byName, other)
			break
		}
	}
	c.byName[name] = cachedHead{rev, h.clone()}
}

// clone copies what a change of the head may change. A series is not changed.
func (h *head) clone() *head {
	c := *h
	c.Lock, c.Current = copied(h.Lock), copied(h.Current)
	c.Writes = slices.Clone(h.Writes)
	return &c
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
