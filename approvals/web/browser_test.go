package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/holdgate/holdgate"
)

// chromium starts a real browser with a window of this size.
func chromium(t testing.TB, width, height int, flags ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is slow, and with the race detector it shows nothing that requests do not")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: chromium is not here (apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(width, height),
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true))
	alloc, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(options, flags...)...)
	ctx, leave := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("ending the browser: %v", err)
		}
		leave()
		end()
	})
	browse(t, ctx, chromedp.Steps()) // the first one starts it, and must have no end
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(stop)
	return ctx
}

// browse does these steps.
func browse(t testing.TB, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		text, _ := chromedp.Run(ctx, chromedp.TextContent("body"))
		t.Fatalf("%v; the page says:\n%s", err, text)
	}
}

// value is what an action yields.
func value[T any](t testing.TB, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	must(t, err)
	return v
}

// picture keeps a picture of the page where HOLDGATE_PICTURES says.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if dir := os.Getenv("HOLDGATE_PICTURES"); dir != "" {
		must(t, os.WriteFile(filepath.Join(dir, name+".png"), value(t, ctx, chromedp.CaptureScreenshot()), 0o600))
	}
}

// A person follows the link, sees a call come up by itself, and decides it with keys.
func TestABrowserDecides(t *testing.T) {
	for _, size := range [][2]int{{1280, 800}, {390, 844}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			h := newHouse(t)
			ctx := chromium(t, size[0], size[1])
			browse(t, ctx, chromedp.EmulateViewport(int64(size[0]), int64(size[1])), chromedp.Navigate(h.link("ada", "/")), chromedp.WaitVisible(`//h1[contains(., "Nothing waits")]`))
			if at := value(t, ctx, chromedp.Location()); strings.Contains(at, "#") || !strings.HasSuffix(at, "/") {
				t.Errorf("the address is %s", at)
			}
			r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build","description":"Clean up"}`, holdgate.HoldSpec{})
			browse(t, ctx, chromedp.WaitVisible(`//b[contains(., "rm -rf build")]`))
			picture(t, ctx, fmt.Sprintf("inbox-%d", size[0]))
			browse(t, ctx, chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`button[value=approve]:not([disabled])`))
			picture(t, ctx, fmt.Sprintf("request-%d", size[0]))
			if !value(t, ctx, chromedp.Evaluate[bool](`(() => { const b = document.querySelector("button[value=approve]").getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight && b.height >= 38 })()`)) {
				t.Error("the answer is not on the first screen")
			}
			// High risk takes two taps, at two places.
			browse(t, ctx, chromedp.Click(`button[value=approve]`))
			unticked := value(t, ctx, chromedp.Evaluate[bool](`document.querySelector("input[name=sure]").matches(":invalid") && !!document.querySelector("button[value=approve]")`))
			if now, _ := h.queue.Request(t.Context(), r.ID); !unticked || now.Status != holdgate.StatusPending {
				t.Errorf("after one tap it is %s, and the box is asked for: %v", now.Status, unticked)
			}
			// Or two keys.
			browse(t, ctx, chromedp.KeyEvent("a"))
			at := value(t, ctx, chromedp.Evaluate[string](`document.activeElement.value`))
			if now, _ := h.queue.Request(t.Context(), r.ID); at != "approve" || now.Status != holdgate.StatusPending {
				t.Errorf("after one key the focus is on %q and it is %s", at, now.Status)
			}
			browse(t, ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`//p[@class="done" and contains(., "approved")]`))
			if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != holdgate.StatusApproved || now.Outcome.By != "ada" {
				t.Errorf("it is %s by %v", now.Status, now.Outcome)
			}
		})
	}
}

// What comes up under the finger is not decided, nor what has changed.
func TestNothingIsDecidedByAccident(t *testing.T) {
	h := newHouse(t)
	ctx := chromium(t, 1280, 800)
	r := h.hold(holdgate.RiskMedium, `{"command":"npm install left-pad"}`, holdgate.HoldSpec{})
	const closed = `document.querySelector("button[value=approve]").disabled`
	browse(t, ctx, chromedp.Navigate(h.link("ada", "/requests/"+r.ID)), chromedp.WaitVisible(`.answer`))
	disabled := value(t, ctx, chromedp.Evaluate[bool](`dispatchEvent(new Event("pageshow")); document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "a", bubbles: true})); `+closed))
	if now, _ := h.queue.Request(t.Context(), r.ID); !disabled || now.Status != holdgate.StatusPending {
		t.Errorf("at once: disabled %v, %s", disabled, now.Status)
	}
	browse(t, ctx, chromedp.WaitVisible(`button[value=approve]:not([disabled])`), chromedp.SendKeys(`#text`, "fine"))
	other := h.signIn("bob")
	other.do(http.MethodPost, "/requests/"+r.ID+"/claim", map[string][]string{"claim": {"yes"}})
	browse(t, ctx, chromedp.WaitVisible(`//p[@id="notice" and contains(., "has changed")]`))
	if !value(t, ctx, chromedp.Evaluate[bool](closed)) {
		t.Error("it has changed, and can be approved")
	}
	other.answer(r, "decision", "deny")
	browse(t, ctx, chromedp.WaitVisible(`//p[@class="done" and contains(., "denied by bob")]`))
}

// A page of another server of this machine cannot read, frame or post, and gets no
// cookie.
func TestAHostileOrigin(t *testing.T) {
	h := newHouse(t)
	r := h.hold(holdgate.RiskHigh, `{"command":"ls"}`, holdgate.HoldSpec{})
	var cookies []string
	var page string
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		cookies = append(cookies, q.Header.Get("Cookie"))
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	}))
	defer evil.Close()
	ctx := chromium(t, 1280, 800)
	_, port, _ := strings.Cut(strings.TrimPrefix(evil.URL, "http://"), ":")
	origin, _, _ := strings.Cut(h.link("ada", "/"), "/open")
	page = `<title>evil</title><iframe src="` + origin + `/"></iframe><form method=post action="` + origin + `/requests/` + r.ID +
		`"><input name=decision value=approve><input name=digest value="` + string(r.Call.Digest) + `"></form>`
	browse(t, ctx, chromedp.Navigate(h.link("ada", "/")), chromedp.WaitVisible(`.rows`),
		chromedp.Navigate("http://localhost:"+port), chromedp.WaitReady(`form`))
	read := value(t, ctx, chromedp.Evaluate[string](`fetch("`+origin+`/", {credentials: "include"}).then(r => r.text(), e => "refused")`, chromedp.EvalAwaitPromise))
	framed := value(t, ctx, chromedp.Evaluate[string](`(() => { try { return document.querySelector("iframe").contentDocument ? "read" : "refused" } catch { return "refused" } })()`))
	browse(t, ctx, chromedp.Submit(`form`), chromedp.WaitVisible(`//*[contains(., "another site")]`))
	if read != "refused" || framed != "refused" {
		t.Errorf("reading: %q, framing: %q", read, framed)
	}
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != holdgate.StatusPending {
		t.Errorf("it is %s", now.Status)
	}
	if got := strings.Join(cookies, ""); got != "" {
		t.Errorf("it was sent the cookie %q", got)
	}
}
