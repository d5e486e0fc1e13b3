package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// agentsGate decides by the shipped pack, with reports that count.
func agentsGate(t *testing.T) *proxytest.Sidecar {
	var seen proxytest.Counter
	return proxytest.NewTo(t, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "cp a b"))}, nil, proxytest.WithShippedPolicy(), func(c *proxy.Config) {
		c.Confidence = proxy.Confidence{Enabled: true, AutoEscalate: true, Threshold: 0.9}
	})
}

func TestGatesAreAnsweredInEachWay(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	for _, tt := range []struct {
		answer holdgate.Answer
		text   string
		status holdgate.Status
		says   string
	}{
		{holdgate.AnswerApprove, "go ahead", holdgate.StatusApproved, "go ahead"},
		{holdgate.AnswerDeny, "too early", holdgate.StatusDenied, "too early"},
		{holdgate.AnswerSteer, "add tests first", holdgate.StatusSteered, "add tests first"},
	} {
		t.Run(string(tt.answer), func(t *testing.T) {
			status, body := g.AskAPI("POST", "/v1/gates", `{"type":"before_commit","message":"Commit the parser?","context":{"diff":"-a\n+b"},"artifacts":["parser.go"]}`)
			asked := proxytest.Read[agentapi.Gate](t, body)
			if status != 201 || asked.Status != holdgate.StatusPending || asked.ID == "" {
				t.Fatalf("asked: %d %s", status, body)
			}
			if _, again := g.AskAPI("POST", "/v1/gates", `{"type":"before_commit","message":"Commit the parser?","context":{"diff":"-a\n+b"},"artifacts":["parser.go"]}`); proxytest.Read[agentapi.Gate](t, again).ID != asked.ID {
				t.Errorf("the same gate asked again while it waits is another: %s", again)
			}
			r := g.Pending(1)[0]
			if r.ID != asked.ID || r.Gate != "before_commit" || r.Call.Kind != holdgate.KindGate || !strings.Contains(strings.Join(r.Briefing.Details, "\n"), "+b") {
				t.Errorf("people see %+v", r)
			}
			if _, body := g.AskAPI("GET", "/v1/session", ""); proxytest.Read[agentapi.Session](t, body).Status != tracks.SessionWaiting {
				t.Errorf("the session: %s", body)
			}
			got := make(chan string, 1)
			go func() { _, body := g.AskAPI("GET", "/v1/gates/"+asked.ID+"?wait=60s", ""); got <- body }()
			g.Decide(r, tt.answer, tt.text)
			for range 2 { // once it was told, it can be asked for again
				a := proxytest.Read[agentapi.Gate](t, <-got)
				if a.Status != tt.status || a.Outcome == nil || !strings.Contains(a.Text, tt.says) || !strings.Contains(a.Text, "ann") {
					t.Errorf("answered: %+v", a)
				}
				go func() { _, body := g.AskAPI("GET", "/v1/gates/"+asked.ID, ""); got <- body }()
			}
			<-got
		})
	}
	// The steer is the last answer: whoever is asked again sees it.
	g.AskAPI("POST", "/v1/gates", `{"type":"before_commit"}`)
	if text := strings.Join(g.Pending(1)[0].Briefing.Details, "\n"); !strings.Contains(text, "steered by ann: add tests first") {
		t.Errorf("the gate asked again does not show the steer:\n%s", text)
	}
	if _, body := g.AskAPI("GET", "/v1/pending", ""); len(proxytest.Read[[]agentapi.Pending](t, body)) != 1 {
		t.Errorf("pending: %s", body)
	}
	if n := len(g.Entries(audit.TypeUsed)); n != 1 {
		t.Errorf("%d approvals were used, want 1", n)
	}
	s, err := g.Queue.Sessions.One(t.Context(), "", "s1")
	proxytest.Must(t, err)
	if len(s.Passed) != 1 || s.Passed[0].Gate != "before_commit" || s.Counts.Steered != 1 || s.Counts.Denied != 1 {
		t.Errorf("the session: %+v", s)
	}
	g.Verified()
}

func TestAChoiceAtAGate(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	_, body := g.AskAPI("POST", "/v1/gates", `{"type":"which_database","kind":"choice","options":["postgres",{"id":"none","label":"Neither","effect":"deny"}]}`)
	asked := proxytest.Read[agentapi.Gate](t, body)
	r := g.Pending(1)[0]
	_, err := g.Queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerChoose, Choice: "postgres", By: "ann", Channel: "cli", Digest: r.Call.Digest})
	proxytest.Must(t, err)
	_, body = g.AskAPI("GET", "/v1/gates/"+asked.ID, "")
	if a := proxytest.Read[agentapi.Gate](t, body); a.Status != holdgate.StatusApproved || a.Outcome.Choice != "postgres" {
		t.Errorf("chosen: %s", body)
	}
	_, body = g.AskAPI("POST", "/v1/gates", `{"type":"constraint_exception","message":"it takes a week"}`)
	if a := proxytest.Read[agentapi.Gate](t, body); len(a.Options) != 3 || a.Options[0].ID != "expand" {
		t.Errorf("a constraint exception: %s", body)
	}
}

func TestTheOptionOtherIsATextOfThePersonsOwn(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	_, body := g.AskAPI("POST", "/v1/gates", `{"type":"which_database","kind":"choice","options":["postgres","Other...",{"id":"own","label":"other…"},"Another..."]}`)
	asked := proxytest.Read[agentapi.Gate](t, body)
	if o := asked.Options; len(o) != 4 || o[0].Other || !o[1].Other || !o[2].Other || o[3].Other {
		t.Fatalf("options: %s", body)
	}
	r := g.Pending(1)[0]
	choose := approvals.Vote{Decision: holdgate.AnswerChoose, Choice: "Other...", By: "ann", Channel: "cli", Digest: r.Call.Digest}
	if _, err := g.Queue.Decide(t.Context(), r.ID, choose); !errors.Is(err, approvals.ErrSteerEmpty) {
		t.Errorf("without a text: %v", err)
	}
	choose.Instructions = "take the one that is there"
	_, err := g.Queue.Decide(t.Context(), r.ID, choose)
	proxytest.Must(t, err)
	_, body = g.AskAPI("GET", "/v1/gates/"+asked.ID, "")
	if a := proxytest.Read[agentapi.Gate](t, body); a.Outcome == nil || a.Outcome.Instructions != choose.Instructions {
		t.Errorf("chosen: %s", body)
	}
}

func TestAGateThatIsOffPassesAtOnce(t *testing.T) {
	t.Parallel()
	no := false
	g := proxytest.NewWith(t, proxytest.WithGates(map[string]sessions.Gate{"before_verify": {Enabled: &no}}), nil, nil, proxytest.WithShippedPolicy())
	status, body := g.AskAPI("POST", "/v1/gates", `{"type":"before_verify"}`)
	a := proxytest.Read[agentapi.Gate](t, body)
	if status != 201 || a.Status != holdgate.StatusApproved || a.Outcome.By != "policy" {
		t.Fatalf("%d %s", status, body)
	}
	if _, again := g.AskAPI("GET", "/v1/gates/"+a.ID, ""); proxytest.Read[agentapi.Gate](t, again).Status != holdgate.StatusApproved {
		t.Errorf("asked for again: %s", again)
	}
}

func TestOneAgentsSessionsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	_, body := g.AskAPI("POST", "/v1/gates", `{"type":"before_commit"}`)
	id := proxytest.Read[agentapi.Gate](t, body).ID
	if status, body := g.AskAPI("GET", "/v1/gates/"+id, "", "X-Session-Id", "s2"); status != 404 {
		t.Errorf("another session: %d %s", status, body)
	}
	if _, body := g.AskAPI("GET", "/v1/pending", "", "X-Session-Id", "s2"); strings.TrimSpace(body) != "[]" {
		t.Errorf("another session sees pending %s", body)
	}
	answered := g.InSession("s1", proxytest.AskPlain)
	for _, r := range g.Pending(1) {
		g.Decide(r, holdgate.AnswerApprove, "")
	}
	<-answered
}

func TestTheAgentsAPIRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		field                    string
	}{
		{"no type", "POST", "/v1/gates", `{}`, nil, 400, "type"},
		{"a bad type", "POST", "/v1/gates", `{"type":"Before Commit"}`, nil, 400, "type"},
		{"Holdgate's own gate", "POST", "/v1/gates", `{"type":"diagnostics"}`, nil, 400, "type"},
		{"an unknown member", "POST", "/v1/gates", `{"type":"a","colour":"red"}`, nil, 400, "colour"},
		{"a member of the wrong type", "POST", "/v1/gates", `{"type":"a","message":7}`, nil, 400, "message"},
		{"an option with a token", "POST", "/v1/gates", `{"type":"a","options":["x",{"id":"y","label":"use ` + aToken + `"}]}`, nil, 400, "options[1].label"},
		{"a task with a token", "POST", "/v1/confidence", `{"task_id":"` + aToken + `","score":0.1}`, nil, 400, "task_id"},
		{"a choice without options", "POST", "/v1/gates", `{"type":"a","kind":"choice"}`, nil, 400, "options"},
		{"options alike", "POST", "/v1/gates", `{"type":"a","options":["x","x"]}`, nil, 400, "options[1].id"},
		{"a context that is no object", "POST", "/v1/gates", `{"type":"a","context":[1]}`, nil, 400, "context"},
		{"a score out of range", "POST", "/v1/confidence", `{"score":101}`, nil, 400, "score"},
		{"no score", "POST", "/v1/confidence", `{"task_id":"t"}`, nil, 400, "score"},
		{"a tier that is none", "POST", "/v1/confidence", `{"score":0.9,"verification":{"tier":3}}`, nil, 400, "verification.tier"},
		{"a looser mode", "PUT", "/v1/session", `{"mode":"never"}`, nil, 400, ""},
		{"a message of no known type", "POST", "/v1/messages", `{"type":"guidance","content":"x"}`, nil, 400, "type"},
		{"an empty message", "POST", "/v1/messages", `{"type":"status","content":""}`, nil, 400, "content"},
		{"a wait that is none", "GET", "/v1/gates/x?wait=soon", "", nil, 400, "wait"},
		{"a gate that is not there", "GET", "/v1/gates/x", "", nil, 404, ""},
		{"a path that is not there", "GET", "/v1/approvals", "", nil, 404, ""},
		{"a web page", "POST", "/v1/gates", `{"type":"a"}`, []string{"Origin", "https://evil.example"}, 403, ""},
		{"a form", "POST", "/v1/gates", `{"type":"a"}`, []string{"Content-Type", "text/plain"}, 415, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := g.AskAPI(tt.method, tt.path, tt.body, tt.headers...)
			p := proxytest.Read[agentapi.Problem](t, body)
			if status != tt.status || p.Field != tt.field || p.Detail == "" {
				t.Errorf("got %d, field %q: %s", status, p.Field, body)
			}
		})
	}
	if list := g.Pending(0); len(list) != 0 {
		t.Errorf("%d requests are pending", len(list))
	}
}

// aToken looks like a credential of GitHub's.
const aToken = "ghp_" + "q7Zr2Kx9Wm4Tn8Vb3Lp6Hs1Dj5Gf0Ycq7Zr2"

func TestNoWordOfAnAgentsShowsACredential(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	for _, tt := range []struct{ name, path, body string }{
		{"a report", "/v1/confidence", `{"score":0.1,"reasons":["` + aToken + ` is refused"],"verification":{"tier":1,"checks":[{"name":"push ` + aToken + `","passed":false}]}}`},
		{"a question", "/v1/messages", `{"type":"clarification_request","content":"Is this right?\n` + aToken + `"}`},
		{"a gate", "/v1/gates", `{"type":"plan","message":"with ` + aToken + `","context":{"task":"` + aToken + `"},"artifacts":["` + aToken + `"]}`},
	} {
		if status, body := g.AskAPI("POST", tt.path, tt.body, "X-Session-Id", "s1"); status != 201 || strings.Contains(body, aToken) {
			t.Errorf("%s: %d %s", tt.name, status, body)
		}
	}
	shown := fmt.Sprintf("%+v", g.Pending(3))
	kept := ""
	proxytest.Must(t, g.Store.View(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			kept += p.Key + string(p.Value)
		}
		return nil
	}))
	for where, text := range map[string]string{"people are shown": shown, "the store": kept} {
		if at := strings.Index(text, aToken); at >= 0 {
			t.Errorf("%s: %s", where, text[max(0, at-200):at])
		}
	}
	if !strings.Contains(shown, "[Is this right? [redacted]]") || !strings.Contains(shown, "push [redacted]") {
		t.Errorf("people do not see the rest: %s", shown)
	}
}

func TestAnAgentTightensItsModeAndNeverLoosensIt(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	if status, body := g.AskAPI("PUT", "/v1/session", `{"mode":"manual"}`); status != 200 || proxytest.Read[agentapi.Session](t, body).Mode != sessions.ModeManual {
		t.Fatalf("tighter: %d %s", status, body)
	}
	if status, body := g.AskAPI("PUT", "/v1/session", `{"mode":"auto"}`); status != 403 {
		t.Errorf("looser: %d %s", status, body)
	}
}

func TestAReportBelowTheLineOpensAGateAndChangesWaitForIt(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	report := func(body string) agentapi.Reported {
		t.Helper()
		status, text := g.AskAPI("POST", "/v1/confidence", body)
		if status != 201 {
			t.Fatalf("%d %s", status, text)
		}
		return proxytest.Read[agentapi.Reported](t, text)
	}
	if r := report(`{"task_id":"t1","score":95}`); r.Escalated || r.ID == "" {
		t.Errorf("sure: %+v", r)
	}
	r := report(`{"task_id":"t1","score":85,"reasons":["the spec is unclear"],"verification":{"tier":1,"checks":[{"name":"tests","passed":true}]}}`)
	if !r.Escalated || r.Gate == "" {
		t.Fatalf("not sure: %+v", r)
	}
	opened := g.Pending(1)[0]
	if text := strings.Join(opened.Briefing.Details, "\n"); opened.ID != r.Gate || opened.Gate != sessions.GateConfidence || !strings.Contains(text, "the spec is unclear") {
		t.Errorf("people see %s: %s", opened.Gate, text)
	}
	answered := g.InSession("s1", proxytest.AskPlain) // a write
	if held := g.Pending(2)[1]; held.Rule != "session.gate" || held.Gate != sessions.GateConfidence {
		t.Errorf("the write is held by %s under %s", held.Rule, held.Gate)
	}
	g.Decide(opened, holdgate.AnswerApprove, "")
	if body := <-answered; !strings.Contains(body, `"tool_use"`) {
		t.Errorf("let go on: %s", body)
	}
	if n := len(g.Entries(audit.TypeConfidence)); n != 2 {
		t.Errorf("%d reports are in the log, want 2", n)
	}
	g.Verified()
}

func TestThePageOfAReportShowsWhatCountsAndWhatItRestsOn(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	g.AskAPI("POST", "/v1/confidence", `{"score":85,"verification":{"tier":2,"checks":[{"name":"tests","passed":true},{"name":"lint","passed":false}],"confidence":0.7},"retries":{"count":2,"max":4}}`)
	page := g.Pending(1)[0].Briefing
	if why := strings.Join(page.Why, "\n"); !strings.Contains(why, "the confidence is 0.58; it reports 0.85") {
		t.Errorf("people see %s", why)
	}
	for _, want := range []string{"1 of 2 checks passed", "failed: lint", "another's judgement: confidence 0.70", "2 retries of at most 4"} {
		if text := strings.Join(page.Details, "\n"); !strings.Contains(text, want) {
			t.Errorf("without %q people see %s", want, text)
		}
	}
}

func TestAReportOfNoTrustAtAllPausesTheSession(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	_, text := g.AskAPI("POST", "/v1/confidence", `{"score":0.1,"reasons":["nothing works"]}`)
	r := proxytest.Read[agentapi.Reported](t, text)
	if !r.Escalated {
		t.Fatalf("%s", text)
	}
	if _, text := g.AskAPI("GET", "/v1/session", ""); proxytest.Read[agentapi.Session](t, text).Status != tracks.SessionPaused {
		t.Errorf("the session: %s", text)
	}
	answered := g.InSession("s1", proxytest.AskPlain)
	another := g.InSession("s2", proxytest.AskPlain)
	d := g.Pending(1)[0]
	for _, session := range []string{"s1", "s2"} {
		if s, _ := g.Queue.Agents.StatusOf(holdgate.AgentDefault, session); s.State != agents.Paused {
			t.Errorf("session %s is %s", session, s)
		}
	}
	select {
	case body := <-answered:
		t.Fatalf("a paused session's request was answered: %s", body)
	case body := <-another:
		t.Fatalf("under another name it was answered: %s", body)
	default:
	}
	if d.ID != r.Gate || d.Gate != sessions.GateDiagnostics || !d.Required {
		t.Errorf("people are asked %+v", d)
	}
	g.Decide(d, holdgate.AnswerSteer, "begin anew")
	for _, answered := range []<-chan string{answered, another} {
		if body := <-answered; !strings.Contains(body, `"tool_use"`) {
			t.Errorf("steered: %s", body)
		}
	}
	if _, text := g.AskAPI("GET", "/v1/gates/"+r.Gate, ""); !strings.Contains(text, "begin anew") {
		t.Errorf("the agent is told %s", text)
	}
	g.Verified()
}

func TestReportsAreSwitchable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]proxy.Confidence{"off": {Threshold: 0.9, AutoEscalate: true}, "not escalated": {Enabled: true, Threshold: 0.9}} {
		g := proxytest.NewTo(t, nil, nil, proxytest.WithShippedPolicy(), func(to *proxy.Config) { to.Confidence = c })
		status, text := g.AskAPI("POST", "/v1/confidence", `{"score":0.3}`)
		if status != 201 || proxytest.Read[agentapi.Reported](t, text).Escalated || len(g.Pending(0)) != 0 {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if len(g.Entries(audit.TypeConfidence)) != 1 {
			t.Errorf("%s: the report is not in the log", name)
		}
	}
}

// A client that ends its wait is no error of the sidecar's.
func TestAClientThatEndsAGatesWaitIsNoError(t *testing.T) {
	t.Parallel()
	out, in := io.Pipe()
	t.Cleanup(func() { in.Close() })
	g := proxytest.NewTo(t, nil, nil, proxytest.WithShippedPolicy(), func(c *proxy.Config) {
		c.Logger = slog.New(slog.NewTextHandler(in, nil))
	})
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	_, body := g.AskAPI("POST", "/v1/gates", `{"type":"before_commit","message":"Commit?"}`)
	ctx, leave := context.WithCancel(t.Context())
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/v1/gates/"+proxytest.Read[agentapi.Gate](t, body).ID+"?wait=60s", nil)
	proxytest.Must(t, err)
	req.Header.Set("X-Session-Id", "s1")
	if resp, err := g.Client.Do(req); err == nil {
		resp.Body.Close()
		t.Fatal("the gate was answered")
	}
	for line := range lines {
		if strings.Contains(line, "level=ERROR") {
			t.Errorf("logged: %s", line)
		}
		if strings.Contains(line, "ended before the answer") || t.Failed() {
			return
		}
	}
}
