package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// A notice on a phone stands above the answer, takes no tap that is meant for it, and goes
// once somebody writes, or after some seconds.
func TestANoticeIsNotInTheWay(t *testing.T) {
	h := newHouse(t)
	ctx := chromium(t, 390, 844)
	r := h.hold(holdgate.RiskMedium, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
	browse(t, ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch),
		chromedp.Navigate(h.link("ada", "/requests/"+r.ID)), visible(`button[value=approve]:not([disabled])`))
	told, gone := `//p[@id="notice" and contains(., "Write what")]`, `#notice:empty`
	tap(t, ctx, `button[value=steer]`)
	browse(t, ctx, visible(told))
	picture(t, ctx, "notice-390")
	if !value(t, ctx, chromedp.Evaluate[bool](`document.querySelector("#notice").getBoundingClientRect().bottom <= document.querySelector(".answer").getBoundingClientRect().top`)) {
		t.Error("the notice lies on the answer")
	}
	browse(t, ctx, ready(gone)) // by itself
	tap(t, ctx, `button[value=steer]`)
	browse(t, ctx, visible(told), write(`#text`, "o"))
	if value(t, ctx, chromedp.Evaluate[bool](`!document.querySelector("#notice:empty")`)) {
		t.Error("the notice stays while somebody writes")
	}
	browse(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector("#text").value = ""`))
	tap(t, ctx, `button[value=steer]`)
	browse(t, ctx, visible(told), chromedp.Evaluate[chromedp.Void](`document.querySelector("#notice").style.bottom = "30px"`))
	tap(t, ctx, `button[value=deny]`) // even where it lies on it
	browse(t, ctx, visible(`//p[@class="done" and contains(., "denied")]`))
}

// The page says which program asks and where it is, both as its word, and first of all
// whether what it does can be undone.
func TestWhoAsksAndWhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	h.program, h.said = "claude", "/srv/app/shop"
	h.facts = holdgate.Facts{Effects: []holdgate.Effect{{Kind: holdgate.EffectDelete, What: "file", Where: "data", Undoable: holdgate.UndoableNo, Says: "Deletes data"}}}
	who := approvals.Caller{Agent: holdgate.Agent{ID: holdgate.AgentDefault}, Session: holdgate.Session{ID: "s1"}, Door: "hook"}
	const told = "A program that calls itself claude asks. Nobody has proven which."
	for _, tt := range []struct {
		name, program, agent string
		proven               bool
		says                 string
	}{
		{"a program that names itself", "claude", holdgate.AgentDefault, false, told},
		{"one that does not", "", holdgate.AgentDefault, false, "A program that gives no name asks."},
		{"an agent that names itself", "", "claude", false, told},
		{"a proven agent", "claude", "builder", true, "builder (proven) asks."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h.program, who.Agent = tt.program, holdgate.Agent{ID: tt.agent, Proven: tt.proven}
			r := h.holdFor(who, holdgate.RiskHigh, `{"command":"rm -rf data"}`, holdgate.HoldSpec{})
			_, text, _ := b.do(http.MethodGet, "/requests/"+r.ID, nil)
			if !strings.Contains(text, `<span class="asker">`+tt.says+`</span>`) || strings.Contains(text, "<dt>program</dt>") != (tt.program != "") {
				t.Errorf("it does not say %q", tt.says)
			}
			head, _, _ := strings.Cut(text, `<p class="when">`)
			if !strings.Contains(head, `<p class="undo never">It cannot be undone.</p>`) || !strings.Contains(text, `<dt>folder</dt><dd>/srv/app/shop <small>as the agent says: not checked</small></dd>`) ||
				!strings.Contains(text, "a hook, which it asks before it acts (hook)") {
				t.Error("it does not say whether it can be undone, where the agent is, or how it came")
			}
		})
	}
	_, text, _ := b.do(http.MethodGet, "/", nil)
	if !strings.Contains(text, `<span class="undo never">cannot be undone</span>`) || !strings.Contains(text, "default (its own word), says it is claude") {
		t.Error("the inbox does not say who asks, or whether it can be undone")
	}
}
