package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
)

// crowd holds n calls of some agents, of low risk.
func (h *house) crowd(n int) {
	for i := range n {
		who := approvals.Caller{Agent: holdgate.Agent{ID: fmt.Sprintf("agent-%d", i%200), Proven: true}, Session: holdgate.Session{ID: fmt.Sprintf("s%d", i%1000)}, Door: "up/anthropic"}
		h.holdFor(who, holdgate.RiskLow, fmt.Sprintf(`{"command":"npm install package-%d"}`, i), holdgate.HoldSpec{})
	}
}

// What is most urgent comes first, however much waits.
func TestTheMostUrgentOfMany(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	h.crowd(600)
	late := h.holdFor(approvals.Caller{Agent: holdgate.Agent{ID: "late"}, Session: holdgate.Session{ID: "s"}, Door: "up/anthropic"}, holdgate.RiskCritical, `{"command":"rm -rf /"}`, holdgate.HoldSpec{})
	text := b.get("/")
	if first := strings.Index(text, "/requests/"); first < 0 || !strings.HasPrefix(text[first:], "/requests/"+late.ID) || !strings.Contains(text, "500 of 601 are shown") {
		t.Errorf("the newest request, of critical risk, is not on top of 601")
	}
	if text := b.get("/?risk=critical"); !strings.Contains(text, late.ID) || strings.Contains(text, "npm install") {
		t.Error("the filter by risk does not find it alone")
	}
	if text := b.get("/?q=PACKAGE-590"); !strings.Contains(text, "npm install package-590") || !strings.Contains(text, "1 of 601 are shown") {
		t.Error("what is not among the most urgent is not found by its text")
	}
	if text := b.get("/?agent=agent-7&rule=files.delete"); strings.Count(text, `class="row"`) != 3 {
		t.Errorf("agent-7 has %d rows, want 3", strings.Count(text, `class="row"`))
	}
}

// BenchmarkManyPending measures the page while 10,000 requests wait, beside the API's
// list as commands ask for it.
func BenchmarkManyPending(b *testing.B) {
	h := newHouse(b)
	page := h.signIn("ada")
	h.crowd(10_000)
	commands := client.Through(h.door.As(api.Credential{Person: "ada", Token: api.HashToken("ada")}), "cli")
	b.Run("inbox", func(b *testing.B) {
		for b.Loop() {
			page.get("/")
		}
	})
	b.Run("first paint in a browser", func(b *testing.B) {
		const painted = `new Promise(done => new PerformanceObserver(list => list.getEntriesByName("first-contentful-paint").forEach(e => done(e.startTime))).observe({type: "paint", buffered: true}))`
		ctx := chromium(b, 1280, 800)
		browse(b, ctx, chromedp.Navigate(h.link("ada", "/")), visible(`.row`))
		var took float64
		for b.Loop() {
			browse(b, ctx, chromedp.Reload(), visible(`.row`))
			took += value(b, ctx, chromedp.Evaluate[float64](painted, chromedp.EvalAwaitPromise))
		}
		b.ReportMetric(took/float64(b.N), "ms/paint")
	})
	b.Run("pending", func(b *testing.B) {
		for b.Loop() {
			if _, err := commands.List(b.Context(), approvals.Filter{Status: holdgate.StatusPending}); err != nil {
				b.Fatal(err)
			}
		}
	})
	// decided measures an answer's way to the call that waits for it.
	decided := func(b *testing.B, answer func(r approvals.Request)) {
		var took time.Duration
		for i := 0; b.Loop(); i++ {
			ctx, end := context.WithTimeout(b.Context(), time.Minute)
			key := holdgate.Digest(fmt.Sprintf("%s-%064d", b.Name(), i))
			who := approvals.Caller{Agent: holdgate.Agent{ID: fmt.Sprintf("waits-%d", i), Proven: true}, Session: holdgate.Session{ID: "s"}, Door: "up/anthropic"}
			x, err := h.queue.Enter(ctx, who, func() (holdgate.Digest, error) { return key, nil })
			must(b, err)
			call := holdgate.Call{Kind: holdgate.KindToolCall, Agent: who.Agent, Session: who.Session, Door: who.Door, Time: time.Now(), Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(fmt.Sprintf(`{"command":"rm -rf %d"}`, i))}}
			r, err := x.RequestApproval(ctx, approvals.HeldCall{Call: call, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "files.delete", Reason: "deletes files", Risk: holdgate.RiskHigh,
				Hold: holdgate.HoldSpec{Timeout: time.Hour}, Facts: &holdgate.Facts{}}})
			must(b, err)
			begun := time.Now()
			go answer(r)
			got, err := x.Wait(ctx, r.ID)
			took += time.Since(begun)
			must(b, err)
			if got.Status != holdgate.StatusApproved {
				b.Fatalf("it is %s", got.Status)
			}
			x.Leave()
			end()
		}
		b.ReportMetric(float64(took.Microseconds())/float64(b.N)/1000, "ms/decision")
	}
	b.Run("decision on the page", func(b *testing.B) {
		decided(b, func(r approvals.Request) {
			page.do(http.MethodPost, "/requests/"+r.ID, url.Values{"digest": {string(r.Call.Digest)}, "decision": {"approve"}, "sure": {"1"}})
		})
	})
	b.Run("decision by a command", func(b *testing.B) {
		decided(b, func(r approvals.Request) {
			_, _ = commands.Decide(b.Context(), r.ID, api.Decision{Decision: holdgate.AnswerApprove, Digest: r.Call.Digest})
		})
	})
}
