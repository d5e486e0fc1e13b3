package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdgate/holdgate"
)

// What fills screens is folded, and nothing folded is approved, with scripts or without.
func TestALongPartIsFoldedAndOpenedBeforeItIsApproved(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	for name, c := range map[string]struct{ arguments, last string }{
		"lines": {`{"command":"` + strings.Repeat(`echo a\n`, 100) + `rm -rf /srv"}`, "rm -rf /srv"},
		"line":  {`{"text":"` + strings.Repeat("a; ", 140) + `","more":"` + strings.Repeat(strings.Repeat("b", 440)+`\n`, 12) + `the end"}`, "the end"},
	} {
		r := h.hold(holdgate.RiskLow, c.arguments, holdgate.HoldSpec{})
		if !r.Briefing.Whole {
			t.Fatalf("%s: the briefing is not whole", name)
		}
		page := b.get("/requests/" + r.ID)
		if strings.Contains(page, `value="approve"`) || !strings.Contains(page, "not shown. <a") {
			t.Errorf("%s: the page offers to approve what it folds", name)
		}
		if status, _, now := b.answer(r, "decision", "approve"); status != http.StatusUnprocessableEntity || now.Status != holdgate.StatusPending {
			t.Errorf("%s: it is %s after %d", name, now.Status, status)
		}
		page = b.get("/requests/" + r.ID + "?full=1")
		if !strings.Contains(page, `value="approve"`) || !strings.Contains(page, c.last) {
			t.Errorf("%s: the whole call is not shown, or not offered", name)
		}
		if status, _, now := b.answer(r, "decision", "approve", "full", "1"); status != http.StatusSeeOther || now.Status != holdgate.StatusApproved {
			t.Errorf("%s: it is %s after %d", name, now.Status, status)
		}
	}
}

// With scripts, the end of the call must have been on the screen.
func TestACallIsReadToItsEndBeforeItIsApproved(t *testing.T) {
	h := newHouse(t)
	ctx := chromium(t, 390, 844)
	r := h.hold(holdgate.RiskLow, `{"command":"`+strings.Repeat(`echo a\n`, 50)+`rm -rf /srv"}`, holdgate.HoldSpec{})
	browse(t, ctx, chromedp.EmulateViewport(390, 844), chromedp.Navigate(h.link("ada", "/requests/"+r.ID)), visible(`.unread`),
		visible(`button[value=deny]:not([disabled])`))
	picture(t, ctx, "unread-390")
	if !value(t, ctx, chromedp.Evaluate[bool](`document.querySelector("button[value=approve]").disabled`)) {
		t.Error("it can be approved before it was read")
	}
	browse(t, ctx, chromedp.KeyEvent("a"))
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != holdgate.StatusPending {
		t.Fatalf("it is %s after a key", now.Status)
	}
	for range value(t, ctx, chromedp.Evaluate[int](`document.querySelectorAll(".call pre").length`)) {
		browse(t, ctx, chromedp.Evaluate[chromedp.Void](`new Promise(done => {
			const p = [...document.querySelectorAll(".call pre")].find(p => !p.dataset.read);
			p.dataset.read = "yes"; p.scrollIntoView(); p.scrollTop = p.scrollHeight;
			requestAnimationFrame(() => requestAnimationFrame(done));
		})`, chromedp.EvalAwaitPromise))
	}
	browse(t, ctx, visible(`button[value=approve]:not([disabled])`), chromedp.KeyEvent("a"), visible(`//p[@class="done" and contains(., "approved")]`))
}
