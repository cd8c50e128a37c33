package webpage

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestUnlock releases a lock, but only for the right ID.
func TestUnlock(t *testing.T) {
	s := startServer(t, "--web-admin")
	s.fill()
	b := openTab(t, s)
	const page = "/web/states/team%2Fnetwork"
	b.open(page)
	b.shot("admin")
	b.submit("/unlock", "held-0816")
	b.want("main", "Not done", "held-0815")
	if status, _ := s.try("GET", "/states/team%2Fnetwork/lock", ""); status != http.StatusOK {
		t.Fatalf("a wrong ID has released the lock: %d", status)
	}
	b.open(page)
	b.submit("/unlock", "held-0815")
	b.waitFor(".done", "The lock is released")
	b.want(".cards", "free")
	b.want(".events tr:first-child", "force-unlock", user, "carla@build-7")
	if status, _ := s.try("GET", "/states/team%2Fnetwork/lock", ""); status != http.StatusNotFound {
		t.Errorf("the lock is still held: %d", status)
	}
}

// TestRestore restores a version, but only for the right ID.
func TestRestore(t *testing.T) {
	s := startServer(t, "--web-admin")
	s.fill()
	b := openTab(t, s)
	b.open("/web/states/prod")
	id := b.text(".timeline li:last-child .quiet code")
	restore := func(typed string) {
		t.Helper()
		const last = ".timeline li:last-child "
		b.do(chromedp.Click(last+"summary", chromedp.ByQuery), chromedp.SendKeys(last+"input[name=id]", typed, chromedp.ByQuery))
		b.shot("restore")
		b.follow(last + "button")
	}
	restore("0123456789ab")
	b.waitFor("main", "not the ID of version 1")
	b.open("/web/states/prod")
	restore(id)
	b.waitFor(".done", "The version is restored")
	b.want(".timeline li:first-child", "Version 4", "restored from 1", user)
	if got := s.send("GET", "/states/prod", ""); !strings.Contains(got, `"serial":4,`) || strings.Contains(got, "large") {
		t.Errorf("the state is %s", got)
	}
}
