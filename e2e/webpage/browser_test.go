package webpage

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a browser's tab, which fails the test for any complaint of the page.
type tab struct {
	t      *testing.T
	ctx    context.Context
	server *server

	mu       sync.Mutex
	requests []string
	problems []string
}

func openTab(t *testing.T, s *server, first ...chromedp.Action) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed, and a page cannot be tested without a browser: scripts/chromium.sh installs it with apt-get")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1100, 900),
		chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, server: s}
	chromedp.ListenTarget(ctx, b.heard)
	b.do(append([]chromedp.Action{network.Enable(), log.Enable(), runtime.Enable()}, first...)...)
	t.Cleanup(b.verify)
	return b
}

// heard notes what the page asks for and what the browser complains about.
func (b *tab) heard(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	case *log.EventEntryAdded:
		if ev.Entry.Source != "network" { // a refusal is one, too
			b.problems = append(b.problems, ev.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, ev.ExceptionDetails.Error())
	}
}

func (b *tab) verify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.t.Errorf("the browser says: %s", p)
	}
	for _, url := range b.requests {
		if !strings.Contains(url, strings.TrimPrefix(b.server.url, "http://")) {
			b.t.Errorf("the page asks for %s, which is not the server's", url)
		}
	}
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open shows a page of the server.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(strings.Replace(b.server.url, "://", "://"+user+":"+password+"@", 1)+path), chromedp.WaitReady("main"))
}

// text returns what a person reads in an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	var text string
	b.do(chromedp.Text(selector, &text, chromedp.ByQuery))
	return strings.Join(strings.Fields(text), " ")
}

func (b *tab) html() string {
	b.t.Helper()
	var html string
	b.do(chromedp.OuterHTML("html", &html, chromedp.ByQuery))
	return html
}

// want checks that each of the texts is in an element.
func (b *tab) want(selector string, texts ...string) {
	b.t.Helper()
	got := b.text(selector)
	for _, text := range texts {
		if !strings.Contains(got, text) {
			b.t.Errorf("%s reads %q, want %q in it", selector, got, text)
		}
	}
}

// waitFor returns once a text is in an element.
func (b *tab) waitFor(selector, text string) {
	b.t.Helper()
	var got string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got = b.text(selector); strings.Contains(got, text) {
			return
		}
	}
	b.t.Fatalf("%s reads %q, want %q in it", selector, got, text)
}

// submit types an ID into the form below a summary, and sends it.
func (b *tab) submit(form, id string) {
	b.t.Helper()
	b.do(chromedp.Click(`details:has(form[action$="`+form+`"]) summary`, chromedp.ByQuery),
		chromedp.SendKeys(`form[action$="`+form+`"] input[name=id]`, id, chromedp.ByQuery))
	b.follow(`form[action$="` + form + `"] button`)
}

// follow clicks on what leads to another page, and returns its status.
func (b *tab) follow(selector string) int64 {
	b.t.Helper()
	resp, err := chromedp.RunResponse(b.ctx, chromedp.Click(selector, chromedp.ByQuery))
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.Status
}

// shotsVar names a directory for pictures of the pages, for people to look at.
const shotsVar = "WEBPAGE_SHOTS"

func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv(shotsVar)
	if dir == "" {
		return
	}
	var png []byte
	b.do(chromedp.FullScreenshot(&png, 100))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		b.t.Error(err)
	}
}
