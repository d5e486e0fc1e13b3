package gate_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// limited are the entries that say that an agent is over a limit.
func limited(g *proxytest.Sidecar, rule string) []audit.Entry {
	g.T.Helper()
	var found []audit.Entry
	for _, typ := range []audit.Type{audit.TypeDecision, audit.TypeRefused} {
		for _, e := range g.Entries(typ) {
			if e.Decision.Rule == rule {
				found = append(found, e)
			}
		}
	}
	return found
}

// One call too many is refused in its place; the others wait and are released.
func TestACallOverThePendingLimitIsRefusedInItsPlace(t *testing.T) {
	t.Parallel()
	const calls, limit = 6, 2
	var seen proxytest.Counter
	events := proxytest.MessageStart()
	for i := range calls {
		events += proxytest.MessageTool(strconv.Itoa(i), "toolu_"+strconv.Itoa(i), "gated "+strconv.Itoa(i))
	}
	p := proxytest.Parts{Queue: func(c *approvals.Config) { c.Limits.Pending = limit }}
	g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Stream(&seen, events, proxytest.MessageEnd("tool_use")))}, nil)
	kept := g.Store.Watch(t.Context(), "exchange-body/") // the answer is, once all its calls were judged
	got := make(chan string)
	go func() { got <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body) }()
	if _, err := kept.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Pending(limit) {
		g.Decide(r, holdgate.AnswerApprove, "")
	}
	body := <-got
	if n := strings.Count(body, `"type":"tool_use"`); n != limit {
		t.Errorf("%d calls were released, want %d:\n%s", n, limit, body)
	}
	if n := strings.Count(body, "limits.pending"); n != calls-limit {
		t.Errorf("%d notices name the limit, want %d:\n%s", n, calls-limit, body)
	}
	if n := len(limited(g, holdgate.RuleQuota)); n != 1 {
		t.Errorf("the log says so %d times, want once a minute", n)
	}
	g.Verified()
}

// The calls of an answer for which there is no room are withdrawn and refused,
// and the rest of the answer is delivered.
func TestAnAnswerTooLargeToHoldIsDeliveredWithoutItsCalls(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	long := strings.Repeat("word ", 4000)
	for _, format := range []string{"streamed", "plain"} {
		t.Run(format, func(t *testing.T) {
			up, ask := proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageText("1", long), proxytest.MessageEnd("tool_use")), proxytest.AskStream
			if format == "plain" {
				up = proxytest.Answer(&seen, 200, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"gated"}},{"type":"text","text":"`+long+`"}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`)
				ask = proxytest.AskPlain
			}
			p := proxytest.Parts{Queue: func(c *approvals.Config) { c.Limits.HeldBytes = 10 << 10 }}
			g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, up)}, nil)
			body := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, ask).Body)
			if strings.Contains(body, "tool_use\",\"id\"") || !strings.Contains(body, "limits.held_bytes") || !strings.Contains(body, long) {
				t.Errorf("the answer has the call, no notice, or not the rest: %.2000s", body)
			}
			g.Pending(0)
			g.Verified()
		})
	}
}

// A flood of decisions is slowed down, then refused, and does not fill the log.
func TestAFloodOfDecisionsIsRefusedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`), func(c *proxy.Config) { c.Quotas = func() gate.Limits { return gate.Limits{Decisions: 5} } })
	const asked = 60
	var refused atomic.Int32
	done := make(chan struct{})
	for range asked {
		go func() {
			defer func() { done <- struct{}{} }()
			resp, err := g.Client.Get(g.URL + "/up/test/thing")
			if err != nil {
				t.Error(err)
				return
			}
			body := proxytest.ReadAll(t, resp.Body)
			resp.Body.Close()
			if resp.StatusCode == http.StatusForbidden && strings.Contains(body, "limits.decisions_per_second") {
				refused.Add(1)
			}
		}()
	}
	for range asked {
		<-done
	}
	passed := len(seen.All())
	if passed < 10 || passed+int(refused.Load()) != asked || refused.Load() == 0 {
		t.Errorf("%d passed and %d were refused, of %d", passed, refused.Load(), asked)
	}
	if n := len(limited(g, holdgate.RuleQuota)); n != 1 {
		t.Errorf("the log says so %d times, want once a minute", n)
	}
}

// What an agent asks for that never reaches policy fills the log just as well.
func TestAnAgentHasOnlySoMuchOfTheLog(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`), func(c *proxy.Config) { c.Quotas = func() gate.Limits { return gate.Limits{LogBytes: 20 << 10} } })
	for i := range 200 {
		resp := g.Post(t.Context(), proxytest.Messages, fmt.Sprintf(`{"model":"m","model":"%d"}`, i))
		if resp.StatusCode != http.StatusBadRequest {
			t.Fatalf("a malformed request got %d", resp.StatusCode)
		}
		resp.Body.Close()
	}
	if n := len(g.Entries(audit.TypeRefused)); n < 10 || n > 60 {
		t.Errorf("%d refusals are in the log, want those of 20 KiB", n)
	}
	body := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain).Body)
	if !strings.Contains(body, "limits.log_bytes_per_hour") {
		t.Errorf("a request got %s", body)
	}
	if n := len(seen.All()); n != 0 {
		t.Errorf("%d requests went on", n)
	}
}

// A nearlyFull is a store whose disk has as much room as the test says.
type nearlyFull struct {
	store.Store
	free *atomic.Int64
}

func (d nearlyFull) Free() (int64, error) { return d.free.Load(), nil }

func TestNothingPassesWhereTheDiskIsNearlyFullAndPeopleStillDecide(t *testing.T) {
	t.Parallel()
	const reserve = 1 << 20
	var seen proxytest.Counter
	var free atomic.Int64
	free.Store(10 * reserve)
	p := proxytest.Parts{
		Store: func(s store.Store) store.Store { return nearlyFull{s, &free} },
		Queue: func(c *approvals.Config) { c.Reserve = reserve },
	}
	g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))}, nil)
	kept := g.Store.Watch(t.Context(), "exchange-body/")
	first := make(chan string)
	go func() {
		first <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
	}()
	waiting := g.Pending(1)[0]
	if _, err := kept.Next(t.Context()); err != nil { // the answer has its room
		t.Fatal(err)
	}
	free.Store(reserve * 3 / 4)
	if body := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain).Body); !strings.Contains(body, "the disk is nearly full") || strings.Contains(body, "toolu_1") {
		t.Errorf("a call that would be held got %s", body)
	}
	free.Store(reserve / 4)
	untilStrained(g, true)
	if body := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain).Body); !strings.Contains(body, "limits.disk_reserve") {
		t.Errorf("a request got %s", body)
	}
	asked := len(seen.All())
	g.Decide(waiting, holdgate.AnswerDeny, "no")
	if body := <-first; !strings.Contains(body, "denied by the approver") {
		t.Errorf("the call that waited got %s", body)
	}
	if n := len(limited(g, holdgate.RuleStore)); n != 1 {
		t.Errorf("the log says so %d times, want once a minute", n)
	}
	free.Store(10 * reserve)
	untilStrained(g, false)
	go func() {
		first <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
	}()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	if body := <-first; !strings.Contains(body, "toolu_1") || len(seen.All()) != asked+1 {
		t.Errorf("once there was room again the call got %s", body)
	}
	g.Verified()
}

// untilStrained waits until the queue has noticed what became of the disk.
func untilStrained(g *proxytest.Sidecar, want bool) {
	g.T.Helper()
	proxytest.Await(g.T, "the queue to notice the disk's state", func() (bool, any) {
		err := g.Queue.Strained()
		return (err != nil) == want, err
	})
}
