package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/web"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

const name = "hg-test"

// A house is the page over a real queue on disk, on a real port.
type house struct {
	t       testing.TB
	queue   *approvals.Queue
	page    *web.Server
	door    *api.Server
	http    *httptest.Server
	known   atomic.Pointer[[]api.Credential]
	digests int
	facts   holdgate.Facts // of the calls that are held from now on, and by whom and where, by its own word
	program string
	said    string
	log     *audit.Log
	store   store.Store
}

// newHouse starts a house, whose parts change may change before.
func newHouse(t testing.TB, change ...func(*api.Config, *web.Config)) *house {
	t.Helper()
	ctx := t.Context()
	st := teststore.Open(t, t.TempDir())
	key := []byte(strings.Repeat("k", 32))
	log, err := audit.Open(ctx, st, key)
	must(t, err)
	digester, err := holdgate.NewDigester(key)
	must(t, err)
	signer, err := audit.NewSigner(key)
	must(t, err)
	persons, err := people.New("ada", []people.Person{
		{Name: "ada", Roles: []string{people.RoleApprove, people.RoleAdmin}},
		{Name: "bob", Roles: []string{people.RoleApprove, "dba"}},
		{Name: "olga", Roles: []string{people.RoleOperate}},
	})
	must(t, err)
	h := &house{t: t, log: log, store: st}
	q, err := approvals.Open(ctx, approvals.Config{Store: st, Log: log, Digester: digester, SealKey: key, People: persons, Redeem: time.Hour,
		Judge: func(_ context.Context, c holdgate.Call, a approvals.Answered) holdgate.Decision {
			switch args := string(c.Tool.Arguments); {
			case a.By != "ada" && a.By != "":
				t.Errorf("policy is told that %q edits", a.By)
			case strings.Contains(args, "rm -rf /\""), strings.Contains(args, "vault"):
				return holdgate.Decision{Action: holdgate.Deny, Rule: "files.root", Reason: "deletes everything"}
			case strings.Contains(args, "git push"):
				return holdgate.Decision{Action: holdgate.Hold, Rule: "git.push", Reason: "publishes", Risk: holdgate.RiskHigh}
			case strings.Contains(args, "drop"):
				return holdgate.Decision{Action: holdgate.Hold, Rule: "db.drop", Reason: "drops a table", Risk: holdgate.RiskCritical}
			case strings.Contains(args, "rm ") && a.By == "": // an answer settles it, as in the shipped policy
				return holdgate.Decision{Action: holdgate.Hold, Rule: a.Rule, Risk: holdgate.RiskHigh}
			}
			return holdgate.Decision{Action: holdgate.Allow}
		},
		Site: func() passkeys.Site { return h.page.Site() }})
	must(t, err)
	h.queue = q
	h.known.Store(&[]api.Credential{{Person: "ada", Token: api.HashToken("ada")}, {Person: "bob", Token: api.HashToken("bob")}, {Person: "olga", Token: api.HashToken("olga")}})
	members := []api.Member{{Name: "gateway-1", State: api.MemberWorks, Held: 17}, {Name: "<script>alert(2)</script>", State: api.MemberStands}}
	doors := api.Config{Queue: q, Log: log, Store: st, Digester: digester, Signer: signer, Members: func(context.Context) ([]api.Member, error) { return members, nil }, Credentials: func() []api.Credential { return *h.known.Load() },
		Status: func(context.Context) api.Status {
			return api.Status{Version: "test", Health: api.Healthy, Pending: q.Pending()}
		}}
	pages := web.Config{People: q.People, Passkeys: q.Passkeys, Name: name, Address: func() string { return h.http.Listener.Addr().String() },
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, c := range change {
		c(&doors, &pages)
	}
	door, err := api.New(doors)
	must(t, err)
	h.door, pages.API = door, door
	h.http = httptest.NewUnstartedServer(nil)
	h.page, err = web.New(pages)
	must(t, err)
	h.http.Config.Handler = h.page
	h.http.Start()
	t.Cleanup(func() {
		door.Close()
		h.http.CloseClientConnections()
		h.http.Close()
		if err := q.Close(); err != nil {
			t.Errorf("closing the queue: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hold holds a call of a tool with these arguments.
func (h *house) hold(risk holdgate.Risk, arguments string, spec holdgate.HoldSpec) approvals.Request {
	h.t.Helper()
	return h.holdFor(approvals.Caller{Agent: holdgate.Agent{ID: "builder", Proven: true}, Session: holdgate.Session{ID: "s1"}, Door: "up/anthropic"}, risk, arguments, spec)
}

func (h *house) holdFor(who approvals.Caller, risk holdgate.Risk, arguments string, spec holdgate.HoldSpec) approvals.Request {
	h.t.Helper()
	return h.holdCall(who, risk, holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: json.RawMessage(arguments)}}, spec)
}

func (h *house) holdCall(who approvals.Caller, risk holdgate.Risk, call holdgate.Call, spec holdgate.HoldSpec) approvals.Request {
	h.t.Helper()
	ctx := h.t.Context()
	h.digests++
	key := holdgate.Digest(fmt.Sprintf("%064d", h.digests))
	x, err := h.queue.Enter(ctx, who, func() (holdgate.Digest, error) { return key, nil })
	must(h.t, err)
	defer x.Leave()
	if spec.Timeout == 0 {
		spec.Timeout = time.Hour
	}
	if spec.Allow == nil {
		spec.Allow = []string{"steer", "edit", "remember"}
	}
	call.Agent, call.Session, call.Door, call.Time = who.Agent, who.Session, who.Door, time.Now()
	facts := h.facts
	r, err := x.RequestApproval(ctx, approvals.HeldCall{Call: call, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "files.delete", Reason: "deletes files", Risk: risk, Hold: spec,
		Facts: &facts}, Program: h.program, Said: h.said})
	must(h.t, err)
	return r
}

// link signs a person in: the address of a link.
func (h *house) link(person, path string) string {
	h.t.Helper()
	l, err := h.page.Link(api.Credential{Person: person, Token: api.HashToken(person)}, path)
	must(h.t, err)
	return l.URL
}

// A browser is a client with a cookie, and no more.
type browser struct {
	*house

	cookie string
}

// signIn is a browser in which the person has signed in.
func (h *house) signIn(person string) *browser {
	h.t.Helper()
	b := &browser{house: h}
	_, code, _ := strings.Cut(h.link(person, "/"), "#")
	status, _, head := b.do(http.MethodPost, "/open", url.Values{"code": {code}})
	if status != http.StatusSeeOther {
		h.t.Fatalf("signing in: %d", status)
	}
	b.cookie, _, _ = strings.Cut(head.Get("Set-Cookie"), ";")
	return b
}

// do sends a request as the browser does; headers are pairs.
func (b *browser) do(method, path string, form url.Values, headers ...string) (int, string, http.Header) {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.http.URL+path, body)
	must(b.t, err)
	_, port, _ := strings.Cut(strings.TrimPrefix(b.http.URL, "http://"), ":")
	req.Host = name + ".localhost:" + port
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if b.cookie != "" {
		req.Header.Set("Cookie", b.cookie)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	c := *b.http.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Do(req)
	must(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(b.t, err)
	return resp.StatusCode, string(text), resp.Header
}

func (b *browser) get(path string) string {
	b.t.Helper()
	status, text, _ := b.do(http.MethodGet, path, nil)
	if status != http.StatusOK {
		b.t.Fatalf("GET %s: %d\n%s", path, status, text)
	}
	return text
}

// answer sends the answer's form, and returns what the request has become.
func (b *browser) answer(r approvals.Request, fields ...string) (int, string, approvals.Request) {
	b.t.Helper()
	form := url.Values{"digest": {string(r.Call.Digest)}, "sure": {"1"}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	if slices.Contains(form["sure"], "") { // one tap, and no more
		form.Del("sure")
	}
	status, text, _ := b.do(http.MethodPost, "/requests/"+r.ID, form)
	now, err := b.queue.Request(b.t.Context(), r.ID)
	must(b.t, err)
	return status, text, now
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	tests := []struct {
		name   string
		risk   holdgate.Risk
		spec   holdgate.HoldSpec
		fields []string
		status int // of HTTP
		is     holdgate.Status
		says   string // of a page that refuses
	}{
		{"approve", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "approve"}, 303, holdgate.StatusApproved, ""},
		{"approve at one tap", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "approve", "sure", ""}, 422, holdgate.StatusPending, "tick the box"},
		{"edit at one tap", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "edit", "sure", "", "arguments", `{"command":"rm -rf other"}`}, 422, holdgate.StatusPending, "tick the box"},
		{"approve for longer", holdgate.RiskMedium, holdgate.HoldSpec{}, []string{"decision", "approve", "remember", "exact", "scope", "session", "for", "8h"}, 303, holdgate.StatusApproved, ""},
		{"approve three more", holdgate.RiskMedium, holdgate.HoldSpec{}, []string{"decision", "approve", "remember", "exact", "scope", "session", "for", "18:00", "uses", "3"}, 303, holdgate.StatusApproved, ""},
		{"approve some more", holdgate.RiskMedium, holdgate.HoldSpec{}, []string{"decision", "approve", "remember", "exact", "scope", "session", "for", "8h", "uses", "some"}, 422, holdgate.StatusPending, "a number of calls"},
		{"approve alike ones", holdgate.RiskMedium, holdgate.HoldSpec{}, []string{"decision", "approve", "remember", "pattern", "fix", "/command", "scope", "session", "for", "8h"}, 303, holdgate.StatusApproved, ""},
		{"approve alike ones by nothing", holdgate.RiskMedium, holdgate.HoldSpec{}, []string{"decision", "approve", "remember", "pattern", "scope", "session", "for", "8h"}, 422, holdgate.StatusPending, "have to stay the same"},
		{"approve for no time", holdgate.RiskMedium, holdgate.HoldSpec{}, []string{"decision", "approve", "remember", "exact", "for", "soon"}, 422, holdgate.StatusPending, "for how long"},
		{"approve what was not shown", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "approve", "digest", "x"}, 303, holdgate.StatusApproved, ""}, // the first one counts
		{"deny", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "deny", "text", "not today"}, 303, holdgate.StatusDenied, ""},
		{"steer", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "steer", "text", "use a branch", "artifacts", "a.go, b.go"}, 303, holdgate.StatusSteered, ""},
		{"steer with nothing", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "steer", "text", "  "}, 400, holdgate.StatusPending, "instructions"},
		{"ask first", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "ask", "text", "is anybody using it?"}, 303, holdgate.StatusSteered, ""},
		{"ask nothing", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "ask", "text", " "}, 422, holdgate.StatusPending, "your question"},
		{"nothing", holdgate.RiskHigh, holdgate.HoldSpec{}, nil, 422, holdgate.StatusPending, "one of the buttons"},
		{"critical without its name", holdgate.RiskCritical, holdgate.HoldSpec{}, []string{"decision", "approve"}, 422, holdgate.StatusPending, "Type rm build"},
		{"critical with its name", holdgate.RiskCritical, holdgate.HoldSpec{}, []string{"decision", "approve", "typed", "rm build"}, 303, holdgate.StatusApproved, ""},
		{"critical with the tool's name", holdgate.RiskCritical, holdgate.HoldSpec{}, []string{"decision", "approve", "typed", "Bash"}, 422, holdgate.StatusPending, "Type rm build"},
		{"of unknown risk", "", holdgate.HoldSpec{}, []string{"decision", "approve"}, 422, holdgate.StatusPending, "Type rm build"},
		{"for others", holdgate.RiskHigh, holdgate.HoldSpec{Approvers: holdgate.Approvers{Roles: []string{"dba"}}}, []string{"decision", "approve"}, 403, holdgate.StatusPending, "role dba"},
		{"choose", holdgate.RiskHigh, holdgate.HoldSpec{Kind: holdgate.RequestChoice, Options: []holdgate.Option{{ID: "a", Label: "A", Effect: "approve"}, {ID: "b", Label: "B", Effect: "deny"}}},
			[]string{"decision", "choose", "choice", "b"}, 303, holdgate.StatusDenied, ""},
		{"edit", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "edit", "arguments", `{"command":"rm -rf other"}`}, 303, holdgate.StatusApproved, ""},
		{"edit to no JSON", holdgate.RiskHigh, holdgate.HoldSpec{}, []string{"decision", "edit", "arguments", `{`}, 422, holdgate.StatusPending, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := h.hold(tt.risk, `{"command":"rm -rf build"}`, tt.spec)
			status, text, now := b.answer(r, tt.fields...)
			if status == http.StatusOK { // a standing approval is shown before it is made
				if now.Status != holdgate.StatusPending || !strings.Contains(text, "always allow") {
					t.Errorf("it is %s before anybody saw what it would cover:\n%s", now.Status, text)
				}
				status, text, now = b.answer(r, append(tt.fields, "seen", seen(text))...)
			}
			if status != tt.status || now.Status != tt.is || !strings.Contains(html.UnescapeString(text), tt.says) {
				t.Errorf("got %d, the request is %s, want %d and %s, saying %q:\n%s", status, now.Status, tt.status, tt.is, tt.says, excerpt(text))
			}
			if now.Outcome != nil && (now.Outcome.By != "ada" || now.Votes[0].Channel != "page" || now.Votes[0].Assurance != "local") {
				t.Errorf("the outcome is %+v by %+v", now.Outcome, now.Votes)
			}
		})
	}
}

// seen is what a page says of the standing approval that it shows.
func seen(text string) string {
	m := regexp.MustCompile(`name="seen" value="([^"]*)"`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

// excerpt is the part of a page that says what was wrong.
func excerpt(text string) string {
	if m := regexp.MustCompile(`(?s)<div class="problem".*?</div>`).FindString(text); m != "" {
		return m
	}
	return text[:min(len(text), 2000)]
}

// What changed since it was shown is not decided.
func TestAnAnswerIsToWhatWasShown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
	status, text, _ := b.do(http.MethodPost, "/requests/"+r.ID, url.Values{"digest": {"another"}, "decision": {"approve"}, "sure": {"1"}})
	if now, _ := h.queue.Request(t.Context(), r.ID); status != http.StatusConflict || now.Status != holdgate.StatusPending {
		t.Errorf("got %d, and it is %s:\n%s", status, now.Status, excerpt(text))
	}
	if _, _, now := b.answer(r, "decision", "deny"); now.Status != holdgate.StatusDenied {
		t.Fatalf("it is %s", now.Status)
	}
	if status, text, _ := b.answer(r, "decision", "approve"); status != http.StatusConflict || !strings.Contains(text, "denied by ada") {
		t.Errorf("decided already, got %d:\n%s", status, excerpt(text))
	}
}

// What a request carries beyond its screen is not shown by asking for the whole call.
func TestAHiddenBodyIsNotApprovedOnAScreen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	x, err := h.queue.Enter(t.Context(), approvals.Caller{Agent: holdgate.Agent{ID: "builder"}, Session: holdgate.Session{ID: "s1"}, Door: "up/test"},
		func() (holdgate.Digest, error) { return holdgate.Digest(strings.Repeat("1", 64)), nil })
	must(t, err)
	defer x.Leave()
	call := holdgate.Call{Kind: holdgate.KindHTTPRequest, Agent: holdgate.Agent{ID: "builder"}, Session: holdgate.Session{ID: "s1"}, Door: "up/test", Time: time.Now(),
		HTTP: &holdgate.HTTP{Method: "POST", Host: "h", Path: "/pay", Body: &holdgate.HTTPBody{Type: "text/plain", Size: 9, Text: "pay it all"}}}
	r, err := x.RequestApproval(t.Context(), approvals.HeldCall{Call: call, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "pay", Risk: holdgate.RiskHigh,
		Redact: []string{"/http/body"}, Hold: holdgate.HoldSpec{Timeout: time.Hour}, Facts: &holdgate.Facts{}}})
	must(t, err)
	for _, query := range []string{"", "?full=1"} {
		if page := b.get("/requests/" + r.ID + query); strings.Contains(page, "pay it all") || strings.Contains(page, `value="approve"`) {
			t.Errorf("%s: the page shows what is hidden, or offers to approve it", query)
		}
	}
	if status, _, now := b.answer(r, "decision", "approve", "full", "1"); status != http.StatusUnprocessableEntity || now.Status != holdgate.StatusPending {
		t.Errorf("it is %s after %d", now.Status, status)
	}
}

func TestWhatIsNotShownWholeIsNotApproved(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	long := `{"command":"` + strings.Repeat("echo a; ", 20000) + `rm -rf /"}`
	r := h.hold(holdgate.RiskHigh, long, holdgate.HoldSpec{})
	if r.Briefing.Whole {
		t.Fatal("the briefing is whole")
	}
	page := b.get("/requests/" + r.ID)
	if strings.Contains(page, `value="approve"`) || !strings.Contains(page, "Show the whole call") {
		t.Error("the page offers to approve what it does not show")
	}
	if status, _, now := b.answer(r, "decision", "approve"); status != http.StatusUnprocessableEntity || now.Status != holdgate.StatusPending {
		t.Errorf("it is %s after %d", now.Status, status)
	}
	page = b.get("/requests/" + r.ID + "?full=1")
	if !strings.Contains(page, `value="approve"`) || strings.Count(page, "echo a;") < 20000 {
		t.Error("the whole page does not show the whole call")
	}
	if status, _, now := b.answer(r, "decision", "approve", "full", "1"); status != http.StatusSeeOther || now.Status != holdgate.StatusApproved {
		t.Errorf("it is %s after %d", now.Status, status)
	}
	if c := h.hold(holdgate.RiskHigh, long, holdgate.HoldSpec{}); c.ID != "" {
		status, _, _ := b.do(http.MethodPost, "/several", url.Values{"id": {c.ID}, "digest": {string(c.Call.Digest)}, "decision": {"approve"}})
		if now, _ := h.queue.Request(t.Context(), c.ID); status == http.StatusOK || now.Status != holdgate.StatusPending {
			t.Errorf("in a group it is %s after %d", now.Status, status)
		}
	}
}

func TestSeveralAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	form := url.Values{"decision": {"approve"}, "sure": {"1"}}
	var list []approvals.Request
	h.facts = holdgate.Facts{Commands: []holdgate.Command{{Program: "npm", Argv: []string{"npm", "install", "$PACKAGE"}, Unresolved: []string{"$PACKAGE"}}},
		Effects: []holdgate.Effect{{Kind: holdgate.EffectDelete, What: "package", Where: "p", Undoable: holdgate.UndoableNo, Says: "Deletes p"}}}
	for i := range 3 {
		r := h.hold(holdgate.RiskMedium, fmt.Sprintf(`{"command":"npm install p%d $PACKAGE","description":"The build needs p%d"}`, i, i), holdgate.HoldSpec{})
		list = append(list, r)
		form.Add("id", r.ID)
		form.Add("digest", string(r.Call.Digest))
	}
	page := b.get("/several?" + url.Values{"id": form["id"]}.Encode())
	for _, r := range list {
		if !strings.Contains(page, string(r.Call.Digest)) || !strings.Contains(page, r.Briefing.Summary) {
			t.Errorf("%s is not on the page", r.ID)
		}
	}
	for _, says := range []string{`class="missing"><li>1 part of it is not known`, "<li>files.delete: deletes files", "cannot be undone", "left, then it is denied", "its word, not checked"} {
		if got := strings.Count(page, says); got != len(list) {
			t.Errorf("%d of %d say %q", got, len(list), says)
		}
	}
	if said, shown := strings.Index(page, `class="said"`), strings.Index(page, "The build needs p0"); said < 0 || shown < said {
		t.Error("the agent's words stand among what the call does")
	}
	form["digest"][1] = "another"
	status, text, head := b.do(http.MethodPost, "/several", form)
	if status != http.StatusSeeOther {
		t.Fatalf("got %d:\n%s", status, excerpt(text))
	}
	to := head.Get("Location")
	if page := b.get(to); strings.Count(page, "approved: ") != 2 || !strings.Contains(page, "<b>") || !strings.Contains(b.get(to), "approved: ") {
		t.Errorf("it leads to\n%s", excerpt(page))
	}
	if page := h.signIn("bob").get(to); strings.Contains(page, "approved: ") {
		t.Error("another browser is shown what became of them")
	}
	for i, r := range list {
		want := holdgate.StatusApproved
		if i == 1 {
			want = holdgate.StatusPending
		}
		if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != want {
			t.Errorf("%d is %s, want %s", i, now.Status, want)
		}
	}
	critical := h.hold(holdgate.RiskCritical, `{"command":"rm -rf /"}`, holdgate.HoldSpec{})
	if status, _, _ := b.do(http.MethodPost, "/several", url.Values{"decision": {"approve"}, "id": {critical.ID}, "digest": {string(critical.Call.Digest)}}); status != http.StatusUnprocessableEntity {
		t.Errorf("a critical one in a group: %d", status)
	}
}

func TestAnEditIsShownBeforeItIsSent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build\r\nls","timeout":10,"deep":{"a":[1,2]}}`, holdgate.HoldSpec{})
	if page := b.get("/requests/" + r.ID + "/edit"); strings.Count(page, `name="value"`) != 3 {
		t.Fatalf("the form is not that of three arguments:\n%s", page)
	}
	edit := func(values ...string) (int, string) {
		status, text, _ := b.do(http.MethodPost, "/requests/"+r.ID+"/edit", url.Values{"digest": {string(r.Call.Digest)}, "value": values})
		return status, html.UnescapeString(text)
	}
	if status, text := edit("rm -rf build\r\nls", "10", `{"a":[1,2]}`); status != http.StatusUnprocessableEntity || !strings.Contains(text, "Nothing is changed") {
		t.Errorf("unchanged: %d", status)
	}
	if status, text := edit("rm -rf build\r\nls", "ten", `{"a":[1,2]}`); status != http.StatusUnprocessableEntity || !strings.Contains(text, "timeout is not JSON") {
		t.Errorf("no JSON: %d", status)
	}
	status, text := edit("rm -rf build\r\nls", "20", `{"a":[1,2]}`)
	want := `{"command":"rm -rf build\r\nls","timeout":20,"deep":{"a":[1,2]}}`
	if status != http.StatusOK || !strings.Contains(text, `value="`+want+`"`) || !strings.Contains(text, "- 10") || !strings.Contains(text, "+ 20") || strings.Contains(text, "- rm") {
		t.Errorf("edited: %d\n%s", status, text)
	}
	for command, says := range map[string]string{"ls": "lets the edited call go on", "rm -rf b": "go on with your approval", "git push": "asks again about the edited call, by", "rm -rf /": "refuses the edited call"} {
		status, text := edit(command, "10", `{"a":[1,2]}`)
		if sends := strings.Contains(text, `value="edit"`); status != http.StatusOK || !strings.Contains(text, says) || sends == (command == "rm -rf /") {
			t.Errorf("%s: %d, it can be sent: %v\n%s", command, status, sends, text)
		}
	}
	if status, _, now := b.answer(r, "decision", "edit", "arguments", want, "full", "1"); status != http.StatusSeeOther || string(now.Outcome.Arguments) != want {
		t.Errorf("sent: %d, it is %s with %s", status, now.Status, now.Outcome.Arguments)
	}
}

// Sending an edit takes what policy's verdict on the edited call says, in the moment when it is
// sent, and not what the call took as the agent wrote it.
func TestSendingAnEditTakesWhatItsVerdictSays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	for _, tt := range []struct {
		name     string
		was      string
		risk     holdgate.Risk
		to       string
		tick     bool
		typed    string
		says     string // where it is not sent
		sendable bool   // it can be sent from the page that refuses
	}{
		{"less than the call", "rm -rf build", holdgate.RiskHigh, "ls", false, "", "", true},
		{"the same rule, which the edit itself answers", "rm -rf build", holdgate.RiskHigh, "rm -rf out", false, "", "tick the box", true},
		{"that, ticked", "rm -rf build", holdgate.RiskHigh, "rm -rf out", true, "", "", true},
		{"more than the call", "npm install a", holdgate.RiskMedium, "git push", false, "", "tick the box", true},
		{"much more than the call", "npm install a", holdgate.RiskMedium, "drop", true, "", "Type drop into", true},
		{"that, typed", "npm install a", holdgate.RiskMedium, "drop", false, "drop", "", true},
		{"what policy finds less in than was asked about", "rm -rf build", holdgate.RiskCritical, "ls", true, "", "Type ls into", true},
		{"without a verdict", "vault read", holdgate.RiskMedium, "vault list", false, "", "tick the box", true},
		{"without a verdict, ticked", "vault read", holdgate.RiskMedium, "vault list", true, "", "", true},
		{"refused", "npm install a", holdgate.RiskMedium, "rm -rf /", true, "", "refuses the edited call", false},
	} {
		r := h.hold(tt.risk, `{"command":"`+tt.was+`"}`, holdgate.HoldSpec{})
		form := url.Values{"digest": {string(r.Call.Digest)}, "decision": {"edit"}, "full": {"1"}, "text": {"mind it"}, "arguments": {`{"command":"` + tt.to + `"}`}}
		if tt.tick {
			form.Set("sure", "1")
		}
		form.Set("typed", tt.typed)
		status, text, _ := b.do(http.MethodPost, "/requests/"+r.ID, form)
		now, err := h.queue.Request(t.Context(), r.ID)
		must(t, err)
		switch text = html.UnescapeString(text); {
		case tt.says == "" && now.Status != holdgate.StatusApproved:
			t.Errorf("%s: %d, it is %s:\n%s", tt.name, status, now.Status, excerpt(text))
		case tt.says != "" && (status != http.StatusUnprocessableEntity || now.Status != holdgate.StatusPending || !strings.Contains(excerpt(text), tt.says)):
			t.Errorf("%s: %d, it is %s:\n%s", tt.name, status, now.Status, excerpt(text))
		case tt.says != "" && (strings.Contains(text, `value="edit"`) != tt.sendable || !strings.Contains(text, "+ "+tt.to) || tt.sendable && !strings.Contains(text, "mind it")):
			t.Errorf("%s: the page has lost the edit:\n%s", tt.name, text)
		}
	}
}

// Whoever may not answer a request is not told what policy says of edits of it.
func TestAVerdictIsForThoseWhoMayAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
	form := url.Values{"digest": {string(r.Call.Digest)}, "value": {"git push"}}
	if status, text, _ := h.signIn("olga").do(http.MethodPost, "/requests/"+r.ID+"/edit", form); status != http.StatusForbidden || strings.Contains(text, "git.push") || strings.Contains(text, `value="edit"`) {
		t.Errorf("olga is told, with %d:\n%s", status, excerpt(text))
	}
	if status, text, _ := h.signIn("ada").do(http.MethodPost, "/requests/"+r.ID+"/edit", form); status != http.StatusOK || !strings.Contains(text, "git.push") || !strings.Contains(text, `name="sure"`) {
		t.Errorf("ada is told, with %d:\n%s", status, excerpt(text))
	}
}

// Whatever a name or an argument says, it is text.
func TestHostileText(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	for _, evil := range []string{`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "\u202egnp.exe", "\x1b[2Jgone", "javascript:alert(1)", strings.Repeat("A", 5000), `{{.}}`} {
		quoted, _ := json.Marshal(evil)
		who := approvals.Caller{Agent: holdgate.Agent{ID: evil}, Session: holdgate.Session{ID: evil}, Door: "up/anthropic"}
		r := h.holdFor(who, holdgate.RiskHigh, `{"command":`+string(quoted)+`,`+string(quoted)+`:1}`, holdgate.HoldSpec{Message: evil})
		pages := []string{"/", "/requests/" + r.ID, "/requests/" + r.ID + "?full=1", "/agents", "/history", "/sessions/" + url.PathEscape(evil) + "?agent=" + url.QueryEscape(evil), "/?q=" + url.QueryEscape(evil), "/requests/" + r.ID + "/edit"}
		for _, path := range pages {
			_, text, _ := b.do(http.MethodGet, path, nil)
			text = regexp.MustCompile(`(?s)value="[^"]*"|<textarea.*?</textarea>`).ReplaceAllString(text, "")
			if strings.Contains(text, "<script>alert") || strings.Contains(text, "<img") || strings.Contains(text, "\x1b") {
				t.Errorf("%q acts on %s", evil[:min(len(evil), 30)], path)
			}
			shown := regexp.MustCompile(`href="[^"]*"`).ReplaceAllString(text, "")
			if strings.Contains(shown, "\u202e") {
				t.Errorf("%s shows a mark that turns text around", path)
			}
			if strings.Contains(text, `href="javascript:`) {
				t.Errorf("%s leads to a script", path)
			}
		}
	}
}

// Names that differ in what a screen would hide differ on the page.
func TestNamesAreShownWhole(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	who := approvals.Caller{Agent: holdgate.Agent{ID: "build\u202eer"}, Session: holdgate.Session{ID: "s\U000e00411"}, Door: "up/anthropic"}
	r := h.holdFor(who, holdgate.RiskHigh, `{"command":"ls"}`, holdgate.HoldSpec{})
	for path, says := range map[string][]string{
		"/":                   {"build⟨U+202E⟩er", "s⟨U+E0041⟩1"},
		"/requests/" + r.ID:   {"build⟨U+202E⟩er", "s⟨U+E0041⟩1"},
		"/agents":             {"build⟨U+202E⟩er", "s⟨U+E0041⟩1"},
		"/several?id=" + r.ID: {"build⟨U+202E⟩er", "s⟨U+E0041⟩1"},
	} {
		has(t, b.get(path), path, says...)
	}
}

func TestOtherPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	r := h.hold(holdgate.RiskMedium, `{"command":"npm install a"}`, holdgate.HoldSpec{})
	_, text, _ := b.answer(r, "decision", "approve", "remember", "exact", "scope", "session", "for", "8h")
	if _, other, now := b.answer(r, "decision", "approve", "remember", "exact", "scope", "agent", "for", "8h", "seen", seen(text)); now.Status.Final() || !strings.Contains(other, "in any session") {
		t.Errorf("another standing approval than the one that was shown: it is %s", now.Status)
	}
	b.answer(r, "decision", "approve", "remember", "exact", "scope", "session", "for", "8h", "seen", seen(text))
	for path, says := range map[string]string{
		"/":                             "Nothing waits",
		"/?done=" + r.ID:                "approved",
		"/agents":                       "builder",
		"/sessions/s1?agent=builder":    "of builder",
		"/history":                      "outcome",
		"/history?q=npm":                "hold",
		"/grants":                       "always allow",
		"/statistics":                   "files.delete",
		"/people":                       "this one",
		"/requests/" + r.ID:             "approved by ada",
		"/requests/" + r.ID + "?full=1": "approved by ada",
		"/history/1/proof":              `"inclusion"`,
	} {
		if text := b.get(path); !strings.Contains(text, says) {
			t.Errorf("%s does not say %q:\n%s", path, says, text)
		}
	}
	for _, path := range []string{"/requests/none", "/history?before=x", "/history/x/proof", "/history/99999/proof", "/sessions/none?agent=none", "/several", "/statistics?days=0"} {
		if status, text, _ := b.do(http.MethodGet, path, nil); status < 400 || status >= 500 || !strings.Contains(text, "To what waits") {
			t.Errorf("GET %s: %d\n%s", path, status, text)
		}
	}
	for _, says := range []string{"gateway-1", "stands by", `data-label="waits">17</td>`} {
		if text := b.get("/agents"); !strings.Contains(text, says) {
			t.Errorf("of the sidecars that share the store, %q is not said", says)
		}
	}
	grants, err := h.queue.Grants.List(t.Context(), "builder")
	must(t, err)
	if status, _, _ := b.do(http.MethodPost, "/grants/"+grants[0].ID+"/revoke", url.Values{}); status != http.StatusSeeOther {
		t.Errorf("revoking: %d", status)
	}
	b.do(http.MethodPost, "/agents", url.Values{"agent": {"builder"}, "action": {"pause"}, "text": {"lunch"}})
	if text := b.get("/agents"); !strings.Contains(text, "paused") || !strings.Contains(text, "lunch") {
		t.Error("the agent is not paused")
	}
	b.do(http.MethodPost, "/sessions/s1", url.Values{"agent": {"builder"}, "content": {"mind the tests"}})
	if text := b.get("/sessions/s1?agent=builder"); !strings.Contains(text, "mind the tests") {
		t.Error("the message is not there")
	}
}

// What somebody puts off is hidden from that person alone, and comes back.
func TestNotNow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada, bob := h.signIn("ada"), h.signIn("bob")
	for _, until := range []string{"10m", "tomorrow", "next"} {
		r := h.hold(holdgate.RiskMedium, `{"command":"make `+until+`"}`, holdgate.HoldSpec{})
		put := func(until string) string {
			t.Helper()
			status, text, head := ada.do(http.MethodPost, "/requests/"+r.ID+"/defer", url.Values{"for": {until}})
			if status != http.StatusSeeOther {
				t.Fatalf("putting off %s: %d\n%s", until, status, excerpt(text))
			}
			return head.Get("Location")
		}
		seen := func(b *browser) bool { return strings.Contains(b.get("/"), "/requests/"+r.ID) }
		if to := put(until); to != "/" || seen(ada) || !seen(bob) {
			t.Errorf("%s: after it ada is at %s, sees it: %v, and bob: %v", until, to, seen(ada), seen(bob))
		}
		if text := ada.get("/requests/" + r.ID); !strings.Contains(text, "put off") || !strings.Contains(text, "Show it to me again") {
			t.Errorf("%s: its own page does not say so", until)
		}
		if put("none"); !seen(ada) {
			t.Errorf("%s: taken back, it is not shown", until)
		}
		put(until)
		h.hold(holdgate.RiskMedium, `{"command":"make more"}`, holdgate.HoldSpec{})
		if got := seen(ada); got != (until == "next") {
			t.Errorf("%s: once the session asks again ada sees it: %v", until, got)
		}
		if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != holdgate.StatusPending {
			t.Errorf("%s: it is %s", until, now.Status)
		}
	}
}

// A vote that takes a passkey which nobody has is not waited for in vain.
func TestWhatNobodyCanSignIsMarked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build"}`, holdgate.HoldSpec{Approvers: holdgate.Approvers{Passkey: true}})
	if text := b.get("/requests/" + r.ID); !strings.Contains(text, "nobody who may has one that counts") {
		t.Error("the request does not say so")
	}
	if text := b.get("/"); !strings.Contains(text, "nobody can approve it") {
		t.Error("the inbox does not say so")
	}
}

// A message says nothing twice.
func TestAMessageSaysWhatTheReasonDoesNot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	for message, want := range map[string]int{"deletes files": 0, "deletes files It would touch: ./build": 1, "Mind the release": 1} {
		r := h.hold(holdgate.RiskHigh, `{"command":"ls"}`, holdgate.HoldSpec{Message: message})
		text := b.get("/requests/" + r.ID)
		if got := strings.Count(text, "It would touch") + strings.Count(text, "Mind the release"); got != want || strings.Count(text, "deletes files") != 1 {
			t.Errorf("%q is shown %d times, and the reason %d times", message, got, strings.Count(text, "deletes files"))
		}
	}
}

// An open page is another one once nobody waits any more, and once somebody does again.
func TestAPageSaysThatNobodyWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	who := approvals.Caller{Agent: holdgate.Agent{ID: "builder", Confinement: "weak"}, Session: holdgate.Session{ID: "s1"}, Door: "up/anthropic"}
	r := h.holdFor(who, holdgate.RiskHigh, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
	state := regexp.MustCompile(`data-state="[^"]*"`)
	before := b.get("/requests/" + r.ID)
	must(t, h.queue.RunEnded(t.Context(), "builder"))
	after := b.get("/requests/" + r.ID)
	if state.FindString(before) == state.FindString(after) || !strings.Contains(after, "an approval still counts if the agent asks again") {
		t.Errorf("the run has ended, and the page is\n%s", excerpt(after))
	}
	if list := b.get("/"); !strings.Contains(list, "An approval still counts if the agent asks again") {
		t.Errorf("the list is\n%s", excerpt(list))
	}
}

// A browser that loads a page again does not tick the box of what has changed meanwhile.
func TestTheBoxOfHighRiskIsTickedByAPersonAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
	_, edit, _ := b.do(http.MethodPost, "/requests/"+r.ID+"/edit", url.Values{"digest": {string(r.Call.Digest)}, "value": {"rm -rf out"}})
	box := regexp.MustCompile(`<input type="checkbox" name="sure"[^>]*>`)
	for name, page := range map[string]string{"the request": b.get("/requests/" + r.ID), "the change": edit, "several": b.get("/several?id=" + r.ID)} {
		if got := box.FindString(page); !strings.Contains(got, `autocomplete="off"`) {
			t.Errorf("%s: the box is %q", name, got)
		}
	}
}
