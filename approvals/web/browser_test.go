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
	"testing/synctest"
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
	must(t, chromedp.Do(ctx)) // the first one starts it, and must have no end
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(stop)
	return ctx
}

// longest bounds each thing that a browser is waited for.
const longest = time.Minute

// browse does these steps, each within a minute.
func browse(t testing.TB, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for i, step := range steps {
		if err := chromedp.Do(ctx, bounded(step)); err != nil {
			text, _ := chromedp.Run(ctx, bounded(chromedp.TextContent("body")))
			t.Fatalf("step %d: %v; the page says:\n%s", i+1, err, text)
		}
	}
}

// bounded ends an action after a minute.
func bounded[T any](a chromedp.Action[T]) chromedp.Action[T] {
	return func(ctx context.Context, target *chromedp.Target) (T, error) {
		ctx, end := context.WithTimeoutCause(ctx, longest, fmt.Errorf("it took longer than %v", longest))
		defer end()
		v, err := a(ctx, target)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return v, err
	}
}

// named is an action whose error names what it waits for.
func named(what, selector string, a chromedp.Action[chromedp.Void]) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (v chromedp.Void, err error) {
		if v, err = bounded(a)(ctx, target); err != nil {
			err = fmt.Errorf("%s %s: %w", what, selector, err)
		}
		return v, err
	}
}

// The actions that wait for an element.
func visible(selector string) chromedp.Action[chromedp.Void] {
	return named("waiting for", selector, chromedp.WaitVisible(selector))
}

func ready(selector string) chromedp.Action[chromedp.Void] {
	return named("waiting for", selector, chromedp.WaitReady(selector))
}

func click(selector string) chromedp.Action[chromedp.Void] {
	return named("clicking", selector, chromedp.Click(selector))
}

func write(selector, text string) chromedp.Action[chromedp.Void] {
	return named("writing into", selector, chromedp.SendKeys(selector, text))
}

func submit(selector string) chromedp.Action[chromedp.Void] {
	return named("submitting", selector, chromedp.Submit(selector))
}

// A wait for what never shows up ends, and says for what it was.
func TestABrowserIsWaitedForByName(t *testing.T) {
	t.Parallel()
	never := func(ctx context.Context, _ *chromedp.Target) (v chromedp.Void, err error) {
		<-ctx.Done()
		return v, ctx.Err()
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := bounded(named("waiting for", "#hidden", never))(t.Context(), nil)
		if took := time.Since(begun); err == nil || !strings.Contains(err.Error(), "waiting for #hidden") || !strings.Contains(err.Error(), "it took longer than 1m0s") || took != longest {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// value is what an action yields, within a minute.
func value[T any](t testing.TB, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, bounded(a))
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
			browse(t, ctx, chromedp.EmulateViewport(int64(size[0]), int64(size[1])), chromedp.Navigate(h.link("ada", "/")), visible(`//h1[contains(., "Nothing waits")]`))
			if at := value(t, ctx, chromedp.Location()); strings.Contains(at, "#") || !strings.HasSuffix(at, "/") {
				t.Errorf("the address is %s", at)
			}
			r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build","description":"Clean up"}`, holdgate.HoldSpec{})
			browse(t, ctx, visible(`//b[contains(., "rm -rf build")]`))
			picture(t, ctx, fmt.Sprintf("inbox-%d", size[0]))
			browse(t, ctx, chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter), visible(`button[value=approve]:not([disabled])`))
			picture(t, ctx, fmt.Sprintf("request-%d", size[0]))
			if !value(t, ctx, chromedp.Evaluate[bool](`(() => { const b = document.querySelector("button[value=approve]").getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight && b.height >= 38 })()`)) {
				t.Error("the answer is not on the first screen")
			}
			// High risk takes two taps, at two places.
			browse(t, ctx, click(`button[value=approve]`))
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
			browse(t, ctx, chromedp.KeyEvent(kb.Enter), visible(`//p[@class="done" and contains(., "approved")]`))
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
	browse(t, ctx, chromedp.Navigate(h.link("ada", "/requests/"+r.ID)), visible(`.answer`))
	disabled := value(t, ctx, chromedp.Evaluate[bool](`dispatchEvent(new Event("pageshow")); document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "a", bubbles: true})); `+closed))
	if now, _ := h.queue.Request(t.Context(), r.ID); !disabled || now.Status != holdgate.StatusPending {
		t.Errorf("at once: disabled %v, %s", disabled, now.Status)
	}
	browse(t, ctx, visible(`button[value=approve]:not([disabled])`), write(`#text`, "fine"))
	other := h.signIn("bob")
	other.do(http.MethodPost, "/requests/"+r.ID+"/claim", map[string][]string{"claim": {"yes"}})
	browse(t, ctx, visible(`//p[@id="notice" and contains(., "has changed")]`))
	if !value(t, ctx, chromedp.Evaluate[bool](closed)) {
		t.Error("it has changed, and can be approved")
	}
	// What was written stays with the request as it is now, which is read anew.
	shut := value(t, ctx, chromedp.Evaluate[bool](`document.querySelector("#notice button").click(); `+closed))
	browse(t, ctx, visible(`//p[contains(., "bob is looking at it")]`), visible(`button[value=approve]:not([disabled])`))
	if words := value(t, ctx, chromedp.Evaluate[string](`document.querySelector("#text").value + "|" + document.querySelector("#notice").textContent`)); words != "fine|" || !shut {
		t.Errorf("the words and the notice: %q; it was closed meanwhile: %v", words, shut)
	}
	other.answer(r, "decision", "deny")
	browse(t, ctx, visible(`//p[@class="done" and contains(., "denied by bob")]`))
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
	browse(t, ctx, chromedp.Navigate(h.link("ada", "/")), visible(`.rows`),
		chromedp.Navigate("http://localhost:"+port), ready(`form`))
	read := value(t, ctx, chromedp.Evaluate[string](`fetch("`+origin+`/", {credentials: "include"}).then(r => r.text(), e => "refused")`, chromedp.EvalAwaitPromise))
	framed := value(t, ctx, chromedp.Evaluate[string](`(() => { try { return document.querySelector("iframe").contentDocument ? "read" : "refused" } catch { return "refused" } })()`))
	browse(t, ctx, submit(`form`), visible(`//*[contains(., "another site")]`))
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
