package webpage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestPages reads every page as a person does.
func TestPages(t *testing.T) {
	s := startServer(t)
	s.fill()
	b := openTab(t, s)

	b.open("/")
	b.want("main", "3 in all, 1 locked", "prod", "staging", "deleted", "team/network", "carla@build-7", "apply")
	b.shot("states")
	b.follow(`a[href="/web/states/prod"]`)
	b.want("h1", "prod")
	b.want(".cards", "free", "Version 3", "serial 3", "ben@ci")
	b.want(".timeline li:first-child", "Version 3", "by ben@ci", "changes")
	b.want(".timeline li:last-child", "Version 1", "by anna@laptop")
	b.want(".events", "lock", "write", "unlock", "version 3, serial 3")
	if strings.Contains(b.html(), "<form method=\"post\"") {
		t.Error("a page that is read-only has a form that changes something")
	}
	b.shot("state")

	b.do(chromedp.Click(`.timeline li:last-child input[name=a]`, chromedp.ByQuery)) // from 1
	b.follow(`button[form=compare]`)
	b.want("h1", "Version 1 to 3")
	b.want("main", "cloud_server.web", "size", `"small"`, `"large"`, "endpoint", "https://v3.example.org", "Sensitive values are not shown")
	b.shot("diff")
	b.open("/web/states/prod/diff?a=2&b=3")
	b.want("main", "1 removed", "cloud_server.db")
	if strings.Contains(b.html(), secret) {
		t.Error("the page shows a sensitive value")
	}
	b.open("/web/states/none")
	b.want("main", "Not found", "there is no state none")
}

// TestPageIsLive: what happens is seen without a reload.
func TestPageIsLive(t *testing.T) {
	s := startServer(t)
	s.fill()
	b := openTab(t, s)
	b.open("/web/states/prod")
	b.want(".cards", "free")
	s.lock("prod", "later-1", "dora@tablet")
	b.waitFor(".cards", "dora@tablet")
	b.waitFor(".events", "dora@tablet")
	if status, _ := s.try("POST", "/states/prod?ID=another", document(4, "")); status != http.StatusConflict {
		t.Fatalf("a write without the lock: %d", status)
	}
	b.waitFor(".events .refused", "locked by another")
	b.shot("live")
}

// TestPageWithoutJavaScript: reading needs none.
func TestPageWithoutJavaScript(t *testing.T) {
	s := startServer(t)
	s.fill()
	b := openTab(t, s, emulation.SetScriptExecutionDisabled(true))
	b.open("/web/states/prod")
	b.want("main", "Version 3", "by anna@laptop", "version 3, serial 3")
	b.follow(`button[form=compare]`)
	b.want("h1", "Version 2 to 3")
}

// TestPageFits: nothing is wider than a phone's screen, in both colour schemes.
func TestPageFits(t *testing.T) {
	s := startServer(t, "--web-admin")
	s.fill()
	s.lock("prod", "0c5ee9f8-6f0d-4d11-a1ea-8a2f1f0c7b9e", "somebody-with-a-long-name@a-machine-with-a-long-name.example.org")
	word := strings.Repeat("word", 30)
	s.send("LOCK", "/states/words", fmt.Sprintf(`{"ID":%q,"Who":%[1]q,"Operation":%[1]q,"Info":%[1]q}`, word))
	b := openTab(t, s, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	for _, scheme := range []string{"light", "dark"} {
		b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		for name, path := range map[string]string{"states": "/", "state": "/web/states/prod", "words": "/web/states/words", "diff": "/web/states/prod/diff?a=1&b=3"} {
			b.open(path)
			var wide bool
			b.do(chromedp.Evaluate(`[document.documentElement, ...document.querySelectorAll(".card")].some(e => e.scrollWidth > e.clientWidth)`, &wide))
			if wide {
				t.Errorf("%s, or a card on it, is wider than a phone", path)
			}
			b.shot("phone-" + name + "-" + scheme)
		}
	}
	b.do(chromedp.EmulateViewport(1100, 900))
	b.open("/web/states/prod")
	b.shot("state-dark")
	b.open("/web/states/prod/diff?a=1&b=3")
	b.shot("diff-dark")
}

// TestPageShowsMarkupAsText: a lock record is whatever a client has sent.
func TestPageShowsMarkupAsText(t *testing.T) {
	s := startServer(t)
	const who = `<img src=x onerror=alert(1)>`
	s.send("LOCK", "/states/s", `{"ID":"<b>id</b>","Who":"`+who+`","Info":"<script>alert(2)</script>"}`)
	b := openTab(t, s)
	for _, path := range []string{"/", "/web/states/s"} {
		b.open(path)
		b.want("main", who)
		if strings.Contains(b.html(), "<img") {
			t.Errorf("%s has the client's markup in it", path)
		}
	}
}

// TestAnotherOriginChangesNothing: a page elsewhere cannot use the browser's
// credentials, neither on the page's forms nor on the API.
func TestAnotherOriginChangesNothing(t *testing.T) {
	s := startServer(t, "--web-admin")
	s.fill()
	b := openTab(t, s)
	b.open("/") // the browser has the credentials now
	for _, target := range []string{"/web/states/team%2Fnetwork/unlock", "/states/team%2Fnetwork/lock?ID=held-0815", "/states/prod/restore?version=1"} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<main><form method="post" action="` + s.url + target + `"><input name="id" value="held-0815"><button>go</button></form></main>`))
		}))
		defer elsewhere.Close()
		b.do(chromedp.Navigate(elsewhere.URL), chromedp.WaitReady("button"))
		if status := b.follow("button"); status != http.StatusForbidden {
			t.Errorf("%s from another origin: %d, want 403", target, status)
		}
	}
	if status, _ := s.try("GET", "/states/team%2Fnetwork/lock", ""); status != http.StatusOK {
		t.Errorf("the lock is gone: %d", status)
	}
	if text := s.send("GET", "/states/prod/status", ""); !strings.Contains(text, `"versions":3`) {
		t.Errorf("the state has changed: %s", text)
	}
	b.mu.Lock()
	b.requests = nil // those of the other origin are not the page's
	b.mu.Unlock()
}
