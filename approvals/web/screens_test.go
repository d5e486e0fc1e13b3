package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// call sends a command of the browser's that chromedp has no action for.
func call[P any](t *testing.T, ctx context.Context, method cdp.Command[P, cdp.Empty], p P) {
	t.Helper()
	_, err := chromedp.Call(ctx, method, p)
	must(t, err)
}

// axe is the source of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("HOLDGATE_CLIENTS"), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skip("SKIPPED: HOLDGATE_CLIENTS has no axe-core (npm install in testdata/clients)")
	}
	return string(text)
}

// A screen is a path, and what is clicked there: each click leads to another page.
type screen struct {
	path   string
	clicks []string
}

// furnished is a house with something on every screen, and the screens.
func furnished(t *testing.T) (*house, []screen) {
	h := newHouse(t, governed)
	b := h.signIn("ada")
	granted := h.hold(holdgate.RiskMedium, `{"command":"npm install a"}`, holdgate.HoldSpec{})
	_, text, _ := b.answer(granted, "decision", "approve", "remember", "exact", "scope", "session", "for", "8h")
	b.answer(granted, "decision", "approve", "remember", "exact", "scope", "session", "for", "8h", "seen", seen(text))
	high := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build && git push --force","description":"Clean up","deep":{"a":[1,2]}}`, holdgate.HoldSpec{Message: "Mind the release"})
	first := h.hold(holdgate.RiskMedium, `{"command":"npm install b"}`, holdgate.HoldSpec{})
	second := h.hold(holdgate.RiskMedium, `{"command":"npm install c"}`, holdgate.HoldSpec{})
	critical := h.hold(holdgate.RiskCritical, `{"command":"rm -rf /"}`, holdgate.HoldSpec{Approvers: holdgate.Approvers{Passkey: true}})
	choice := h.hold(holdgate.RiskLow, `{"command":"make"}`, holdgate.HoldSpec{Kind: holdgate.RequestChoice, Options: []holdgate.Option{{ID: "a", Label: "A", Effect: "approve"}, {ID: "o", Label: "Other", Other: true}}})
	long := h.hold(holdgate.RiskHigh, `{"command":"`+strings.Repeat("echo a; ", 9000)+`"}`, holdgate.HoldSpec{})
	b.do("POST", "/agents", map[string][]string{"agent": {"builder"}, "action": {"pause"}, "text": {"lunch"}})
	b.do("POST", "/sessions/s1", map[string][]string{"agent": {"builder"}, "content": {"mind the tests"}})
	b.do("POST", "/requests/"+first.ID+"/claim", map[string][]string{"claim": {"yes"}})
	var list []screen
	for _, path := range []string{"/", "/?risk=high", "/requests/" + high.ID, "/requests/" + high.ID + "?full=1", "/requests/" + high.ID + "/edit", "/requests/" + critical.ID, "/requests/" + choice.ID,
		"/requests/" + long.ID, "/requests/" + granted.ID, "/several?id=" + first.ID + "&id=" + second.ID, "/agents", "/sessions/s1?agent=builder", "/history", "/history?rule=files.delete", "/grants",
		"/statistics", "/people", "/requests/none", "/policy", "/policy?suggest=1", "/policy/draft?request=" + high.ID, "/open"} {
		list = append(list, screen{path: path})
	}
	return h, append(list,
		screen{"/policy", []string{`form[action^="/policy/try"] button`}},
		screen{"/policy/draft?request=" + high.ID, []string{`button[value=never]`}},
		screen{"/policy?suggest=1", []string{`form[action="/policy/review"] button`}})
}

// Whatever an agent writes, no page is wider than a phone, and no table of it is scrolled sideways.
func TestNothingIsWiderThanAPhone(t *testing.T) {
	h := newHouse(t, governed)
	b := h.signIn("ada")
	long := strings.Repeat("wide", 50)
	evil := strings.Repeat("a", 3000) + `</script><img src=x>` + "\u202e" + strings.Repeat("http://evil.example/", 50)
	who := approvals.Caller{Agent: holdgate.Agent{ID: "agent-" + long}, Session: holdgate.Session{ID: "session-" + long}, Door: "up/" + long}
	arguments, err := json.Marshal(map[string]any{"command": evil, "description": evil, long + "x": evil, "deep": map[string]any{long: []string{evil}}})
	must(t, err)
	session := "/sessions/" + url.PathEscape(who.Session.ID) + "?agent=" + url.QueryEscape(who.Agent.ID)
	var ids []string
	for _, risk := range []holdgate.Risk{holdgate.RiskMedium, holdgate.RiskHigh, holdgate.RiskCritical} {
		ids = append(ids, h.holdCall(who, risk, holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "tool" + long, Server: "server" + long, Arguments: arguments}}, holdgate.HoldSpec{Message: evil}).ID)
	}
	h.holdCall(who, holdgate.RiskHigh, holdgate.Call{Kind: holdgate.KindGate, Gate: &holdgate.Gate{Type: "deploy", Message: evil}}, holdgate.HoldSpec{Gate: "deploy", Kind: holdgate.RequestChoice, Options: []holdgate.Option{{ID: "a", Label: evil, Effect: "approve"}}})
	granted := h.holdFor(who, holdgate.RiskMedium, string(arguments), holdgate.HoldSpec{})
	_, text, _ := b.answer(granted, "decision", "approve", "full", "1", "remember", "exact", "scope", "session", "for", "8h")
	if _, _, now := b.answer(granted, "decision", "approve", "full", "1", "remember", "exact", "scope", "session", "for", "8h", "seen", seen(text)); now.Status != holdgate.StatusApproved {
		t.Fatalf("the request for a standing approval is %s", now.Status)
	}
	denied := h.holdFor(who, holdgate.RiskMedium, string(arguments), holdgate.HoldSpec{})
	b.answer(denied, "decision", "deny", "text", evil)
	b.do("POST", "/sessions/"+url.PathEscape(who.Session.ID), map[string][]string{"agent": {who.Agent.ID}, "content": {evil}})
	ctx := chromium(t, 390, 844)
	browse(t, ctx, chromedp.EmulateViewport(390, 844), chromedp.Navigate(h.link("ada", "/")), visible(`.rows`))
	origin, _, _ := strings.Cut(h.link("ada", "/"), "/open")
	const wide = `[...(document.documentElement.scrollWidth > innerWidth ? [document.documentElement] : []), ...[...document.querySelectorAll("main, main table, main pre, main form, main section, main li, .answer")].filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth + 1)]
		.map(e => e.tagName + "." + e.className + " " + e.scrollWidth).join("; ")`
	for i, path := range []string{"/", "/?q=wide&agent=" + who.Agent.ID, "/requests/" + ids[1], "/requests/" + ids[1] + "?full=1", "/requests/" + ids[2], "/requests/" + ids[1] + "/edit", "/requests/" + denied.ID, "/several?id=" + ids[0] + "&id=" + ids[1],
		"/agents", session, "/history", "/history?agent=" + who.Agent.ID, "/grants", "/statistics", "/people", "/policy", "/policy?suggest=1", "/policy/draft?request=" + ids[1], "/rules?id=files.delete", "/requests/" + long} {
		browse(t, ctx, chromedp.Navigate(origin+path), ready(`main`), chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(d => { d.open = !d.matches(".who") })`))
		picture(t, ctx, fmt.Sprintf("hostile-%02d", i))
		if found := value(t, ctx, chromedp.Evaluate[string](wide)); found != "" {
			t.Errorf("%.60s: it scrolls sideways: %s", path, found)
		}
	}
}

// findings are what axe-core finds on the page, one a line. Its source has been evaluated there. Of what was looked
// at in other colours, the rules about colours are enough.
func findings(t *testing.T, ctx context.Context, coloursOnly bool) string {
	t.Helper()
	rules := `""`
	if coloursOnly {
		rules = `{type: "rule", values: ["color-contrast", "link-in-text-block"]}`
	}
	text := value(t, ctx, chromedp.Evaluate[string](`axe.run(document, {resultTypes: ["violations"], runOnly: `+rules+` || undefined}).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, nodes: v.nodes.map(n => n.html.slice(0, 200) + " " + (n.any[0]?.message ?? ""))}))))`, chromedp.EvalAwaitPromise))
	var list []struct {
		ID    string
		Nodes []string
	}
	must(t, json.Unmarshal([]byte(text), &list))
	var lines []string
	for _, v := range list {
		lines = append(lines, v.ID+": "+strings.Join(v.Nodes[:min(len(v.Nodes), 3)], " | "))
	}
	return strings.Join(lines, "\n")
}

// No screen has anything that axe-core finds, in any of the ways in which it is shown.
func TestScreensAreAccessible(t *testing.T) {
	source := axe(t)
	h, screens := furnished(t)
	ctx := chromium(t, 1280, 800)
	browse(t, ctx, chromedp.Navigate(h.link("ada", "/")), visible(`.rows`))
	origin, _, _ := strings.Cut(h.link("ada", "/"), "/open")
	for i, s := range screens {
		browse(t, ctx, chromedp.Navigate(origin+s.path), ready(`main`))
		for _, selector := range s.clicks {
			within, end := context.WithTimeout(ctx, longest)
			if _, err := chromedp.RunResponse(within, click(selector)); err != nil {
				t.Fatalf("%s, after clicking %s: %v", s.path, selector, err)
			}
			end()
		}
		path := strings.Join(append([]string{s.path}, s.clicks...), ", ")
		browse(t, ctx, chromedp.Evaluate[chromedp.Void](source), chromedp.Evaluate[chromedp.Void](`new Promise(r => setTimeout(r, document.querySelector(".answer .buttons") ? 750 : 0))`, chromedp.EvalAwaitPromise))
		for _, size := range [][2]int64{{1280, 800}, {390, 844}} {
			browse(t, ctx, chromedp.EmulateViewport(size[0], size[1]))
			for _, scheme := range []string{"light", "dark"} {
				call(t, ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
				picture(t, ctx, fmt.Sprintf("screen-%02d-%s-%d", i, scheme, size[0]))
				if found := findings(t, ctx, scheme == "dark"); found != "" {
					t.Errorf("%s, %s, %d wide:\n%s", path, scheme, size[0], found)
				}
				if wide := value(t, ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth + 1`)); wide {
					t.Errorf("%s, %s, %d wide: it scrolls sideways", path, scheme, size[0])
				}
			}
		}
	}
}

// Without scripts a person reads, approves, denies and steers.
func TestWithoutScripts(t *testing.T) {
	h := newHouse(t)
	ctx := chromium(t, 390, 844)
	call(t, ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	link := h.link("ada", "/")
	origin, code, _ := strings.Cut(link, "#")
	browse(t, ctx, chromedp.Navigate(origin), write(`input[name=code]`, code+kb.Enter), visible(`//h1[contains(., "Nothing waits")]`))
	origin = strings.TrimSuffix(origin, "/open")
	for _, tt := range []struct {
		name, button string
		risk         holdgate.Risk
		is           holdgate.Status
		steps        []chromedp.Action[chromedp.Void]
	}{
		{"approve", "approve", holdgate.RiskHigh, holdgate.StatusApproved, []chromedp.Action[chromedp.Void]{click(`input[name=sure]`)}},
		{"approve what is critical", "approve", holdgate.RiskCritical, holdgate.StatusApproved, []chromedp.Action[chromedp.Void]{write(`input[name=typed]`, "rm build")}},
		{"deny", "deny", holdgate.RiskHigh, holdgate.StatusDenied, []chromedp.Action[chromedp.Void]{write(`#text`, "not today")}},
		{"steer", "steer", holdgate.RiskMedium, holdgate.StatusSteered, []chromedp.Action[chromedp.Void]{write(`#text`, "use a branch")}},
	} {
		r := h.hold(tt.risk, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
		browse(t, ctx, chromedp.Navigate(origin+"/"), click(`a.open`), visible(`button[value=approve]`))
		browse(t, ctx, tt.steps...)
		browse(t, ctx, click(`button[value=`+tt.button+`]`), visible(`.done`))
		if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != tt.is {
			t.Errorf("%s: it is %s", tt.name, now.Status)
		}
	}
}

// press presses keys one after the other, as a person without a mouse does.
func press(t *testing.T, ctx context.Context, keys ...string) {
	t.Helper()
	for _, k := range keys {
		browse(t, ctx, chromedp.KeyEvent(k))
	}
}

// focus moves the focus with Tab to what the selector finds.
func focus(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	for range 80 {
		if value(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement.matches(%q)`, selector))) {
			return
		}
		press(t, ctx, kb.Tab)
	}
	t.Fatalf("Tab does not lead to %s", selector)
}

const settled = `button[value=approve]:not([disabled])`

// Everything is done with the keyboard alone.
func TestTheKeyboardAlone(t *testing.T) {
	h := newHouse(t)
	ctx := chromium(t, 1280, 800)
	link := h.link("ada", "/")
	open, code, _ := strings.Cut(link, "#")
	browse(t, ctx, chromedp.Navigate(open), visible(`#open`))
	focus(t, ctx, `input[name=code]`)
	browse(t, ctx, chromedp.KeyEvent(code))
	press(t, ctx, kb.Enter)
	browse(t, ctx, visible(`//h1[contains(., "Nothing waits")]`))

	// Edit.
	r := h.hold(holdgate.RiskMedium, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
	browse(t, ctx, visible(`a.open`))
	press(t, ctx, "j", kb.Enter)
	browse(t, ctx, visible(settled))
	press(t, ctx, "e")
	browse(t, ctx, visible(`.fields textarea`))
	focus(t, ctx, `.fields textarea`)
	press(t, ctx, kb.End, "2")
	focus(t, ctx, `.fields button`)
	press(t, ctx, kb.Enter)
	browse(t, ctx, visible(`button[value=edit]:not([disabled])`))
	focus(t, ctx, `input[name=sure]`) // the edited call is of high risk
	press(t, ctx, " ")
	focus(t, ctx, `button[value=edit]`)
	press(t, ctx, kb.Enter)
	browse(t, ctx, visible(`.done`))
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Outcome == nil || !strings.Contains(string(now.Outcome.Arguments), "build2") {
		t.Errorf("edited, it is %s: %+v", now.Status, now.Outcome)
	}
	// Remember.
	r = h.hold(holdgate.RiskMedium, `{"command":"npm install a"}`, holdgate.HoldSpec{})
	browse(t, ctx, visible(`a.open`))
	press(t, ctx, "j", kb.Enter)
	browse(t, ctx, visible(settled))
	focus(t, ctx, `details.more summary`)
	press(t, ctx, kb.Enter)
	focus(t, ctx, `input[name=remember]`)
	press(t, ctx, kb.ArrowDown)
	focus(t, ctx, settled)
	press(t, ctx, kb.Enter)
	browse(t, ctx, visible(`//h1[contains(., "Always")]`), visible(settled))
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != holdgate.StatusPending {
		t.Errorf("it is %s before anybody saw what it would cover", now.Status)
	}
	press(t, ctx, "a", kb.Enter)
	browse(t, ctx, visible(`.done`))
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Outcome == nil || now.Outcome.Grant == "" {
		t.Errorf("remembered, it is %s: %+v", now.Status, now.Outcome)
	}
	// Put off.
	r = h.hold(holdgate.RiskHigh, `{"command":"make"}`, holdgate.HoldSpec{})
	browse(t, ctx, visible(`a.open`))
	press(t, ctx, "j", kb.Enter)
	browse(t, ctx, visible(settled))
	press(t, ctx, "z")
	browse(t, ctx, visible(`//p[contains(., "1 put off by you")]`))
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != holdgate.StatusPending || len(now.Deferrals) != 1 {
		t.Errorf("put off, it is %s: %+v", now.Status, now.Deferrals)
	}
}

// tap touches the middle of what the selector finds with a finger.
func tap(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	browse(t, ctx, visible(selector), chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block: "center"})`, selector)))
	var at struct{ X, Y, W, H float64 }
	text := value(t, ctx, chromedp.Evaluate[string](fmt.Sprintf(`(() => { const e = document.querySelector(%q), b = e.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;
		const top = document.elementFromPoint(x, y); return JSON.stringify({x: x, y: y, w: top && (e.contains(top) || top.contains(e)) ? b.width : 0, h: b.height}) })()`, selector)))
	must(t, json.Unmarshal([]byte(text), &at))
	if at.W == 0 {
		t.Errorf("%s is covered by something else", selector)
	}
	if at.H < 24 || at.W > 0 && at.W < 24 {
		t.Errorf("%s is %v by %v: too small for a finger", selector, at.W, at.H)
	}
	call(t, ctx, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at.X, Y: at.Y}}})
	call(t, ctx, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}})
}

// Everything is done with a finger on a phone.
func TestAFingerAlone(t *testing.T) {
	h := newHouse(t)
	ctx := chromium(t, 390, 844)
	browse(t, ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch), chromedp.Navigate(h.link("ada", "/")), visible(`//h1[contains(., "Nothing waits")]`))
	show := func(risk holdgate.Risk, arguments string) approvals.Request {
		t.Helper()
		r := h.hold(risk, arguments, holdgate.HoldSpec{})
		at := func() bool {
			url, err := chromedp.Run(ctx, chromedp.Location()) // fails while the page is left
			return err == nil && strings.Contains(url, "/requests/"+r.ID)
		}
		for tries := 0; !at(); tries++ { // a list that is drawn anew under the finger takes no tap
			if tries == 20 {
				t.Fatalf("20 taps do not open request %s", r.ID)
			}
			tap(t, ctx, `a.open`)
			for wait := 0; wait < 50 && !at(); wait++ {
				time.Sleep(100 * time.Millisecond)
			}
		}
		browse(t, ctx, visible(settled))
		return r
	}
	r := show(holdgate.RiskMedium, `{"command":"rm -rf build"}`)
	tap(t, ctx, `.side a.button`)
	browse(t, ctx, visible(`.fields textarea`), write(`.fields textarea`, "2"))
	tap(t, ctx, `.fields button`)
	browse(t, ctx, visible(`button[value=edit]:not([disabled])`))
	tap(t, ctx, `label.sure`)
	tap(t, ctx, `button[value=edit]`)
	browse(t, ctx, visible(`.done`))
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Outcome == nil || now.Outcome.Decision != holdgate.AnswerEdit {
		t.Errorf("edited, it is %s: %+v", now.Status, now.Outcome)
	}
	r = show(holdgate.RiskMedium, `{"command":"npm install a"}`)
	tap(t, ctx, `details.more summary`)
	tap(t, ctx, `label:has(> input[name=remember][value=exact])`)
	tap(t, ctx, settled)
	browse(t, ctx, visible(`//h1[contains(., "Always")]`), visible(settled))
	tap(t, ctx, settled)
	browse(t, ctx, visible(`.done`))
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Outcome == nil || now.Outcome.Grant == "" {
		t.Errorf("remembered, it is %s: %+v", now.Status, now.Outcome)
	}
	r = show(holdgate.RiskHigh, `{"command":"make"}`)
	tap(t, ctx, `.off button[value=tomorrow]`)
	browse(t, ctx, visible(`//p[contains(., "1 put off by you")]`))
	if now, _ := h.queue.Request(t.Context(), r.ID); len(now.Deferrals) != 1 {
		t.Errorf("put off, it is %s: %+v", now.Status, now.Deferrals)
	}
}
