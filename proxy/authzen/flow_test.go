package authzen_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/authzen"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/store/audit"
)

// certified is the fixture of the AuthZEN working group's certification scenario for
// Authorization API 1.0, and what the tests of access requests need besides.
const certified = `package holdgate

import rego.v1

default decision := {"action": "deny", "rule": "test.unknown"}

subject := input.access.subject

act := input.tool.arguments.action

resource := input.tool.arguments.resource

archived if resource.properties.status == "archived"

permitted if input.tool.name == "read"

permitted if {
	input.tool.name == "write"
	subject.id == "alice"
	not archived
}

permitted if {
	input.tool.name == "write"
	subject.properties.role == "admin"
	archived
}

permitted if {
	input.tool.name == "delete"
	act.properties.soft == true
}

gated if startswith(resource.id, "gated")

gated if input.tool.arguments.command

decision := {"action": "hold", "rule": "test.hold", "reason": "it says gated", "hold": {"timeout": "1h", "on_timeout": "deny"}} if {
	gated
} else := {"action": "allow", "rule": "test.trusted"} if {
	input.tool.name == "own"
	input.access.proven
	input.session.id == "user:alice"
	input.access.context.tenant == "a"
} else := {"action": "allow", "rule": "test.permitted"} if {
	input.door == "authzen"
	input.agent.id in {"ann", "bob", "waits"}
	permitted
}
`

const (
	evaluation  = "/access/v1/evaluation"
	evaluations = "/access/v1/evaluations"
	requests    = "/access/v1/requests"
)

const (
	carlsToken = "hgt_cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
	waitsToken = "hgt_dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
)

// newPDP is a sidecar that answers policy enforcement points: ann's word for subjects is
// taken, bob's is not, carl is no client, and one waits.
func newPDP(t *testing.T, opts ...proxytest.Option) *proxytest.Sidecar {
	all := append([]proxytest.Option{proxytest.WithPolicy(t, certified), proxytest.WithAgents(t,
		identity.Agent{ID: "ann", Tokens: [][32]byte{identity.Hash(proxytest.AnnsToken)}},
		identity.Agent{ID: "bob", Tokens: [][32]byte{identity.Hash(proxytest.BobsToken)}},
		identity.Agent{ID: "carl", Tokens: [][32]byte{identity.Hash(carlsToken)}},
		identity.Agent{ID: "waits", Tokens: [][32]byte{identity.Hash(waitsToken)}}),
		func(c *proxy.Config) {
			c.AuthZEN.Clients = func(agent string) (authzen.Client, bool) {
				switch agent {
				case "ann":
					return authzen.Client{Trusted: true}, true
				case "bob":
					return authzen.Client{}, true
				case "waits":
					return authzen.Client{Wait: proxytest.Patience}, true
				}
				return authzen.Client{}, false
			}
		}}, opts...)
	return proxytest.New(t, http.NotFoundHandler(), all...)
}

// pdp asks as the agent with the token.
func pdp(g *proxytest.Sidecar, token, method, path, body string, headers ...string) (*http.Response, string) {
	g.T.Helper()
	r, err := http.NewRequestWithContext(g.T.Context(), method, g.URL+path, strings.NewReader(body))
	proxytest.Must(g.T, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := g.Client.Do(r)
	proxytest.Must(g.T, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	proxytest.Must(g.T, err)
	return resp, string(b)
}

// decisions are those of an answer.
func decisions(t *testing.T, body string) (list []bool) {
	t.Helper()
	v := proxytest.Read[struct {
		Decision    *bool
		Evaluations []struct{ Decision *bool }
	}](t, body)
	if v.Decision != nil {
		return []bool{*v.Decision}
	}
	for _, e := range v.Evaluations {
		if e.Decision == nil {
			t.Fatalf("an evaluation without a decision: %s", body)
		}
		list = append(list, *e.Decision)
	}
	return list
}

// The requests are those of the certification scenario of Authorization API 1.0 (Basic, Batch), and the examples of
// the specification.
func TestAuthZENAnswersAsItsCertificationAsks(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	const (
		alice, bob = `{"type":"user","id":"alice"}`, `{"type":"user","id":"bob"}`
		one        = `{"type":"record","id":"record-1"}`
		admin      = `{"type":"user","id":"bob","properties":{"role":"admin"}}`
		archived   = `{"type":"record","id":"record-2","properties":{"status":"archived"}}`
		active     = `{"type":"record","id":"record-1","properties":{"status":"active"}}`
	)
	ask := func(subject, action, resource string) string {
		return fmt.Sprintf(`{"subject":%s,"action":%s,"resource":%s}`, subject, action, resource)
	}
	named := func(action string) string { return `{"name":"` + action + `"}` }
	for name, tt := range map[string]struct {
		path, body string
		status     int
		want       []bool
	}{
		"c-2-2-1 permit":                  {evaluation, ask(alice, named("read"), one), 200, []bool{true}},
		"rule 2":                          {evaluation, ask(alice, named("write"), one), 200, []bool{true}},
		"rule 3":                          {evaluation, ask(bob, named("read"), one), 200, []bool{true}},
		"c-2-2-2 deny":                    {evaluation, ask(bob, named("write"), one), 200, []bool{false}},
		"c-2-2-3 context":                 {evaluation, `{"subject":` + alice + `,"action":{"name":"read"},"resource":` + one + `,"context":{"time":"2025-06-27T18:03-07:00","ip":"192.168.1.1"}}`, 200, []bool{true}},
		"c-2-2-4 deny by resource":        {evaluation, ask(alice, named("write"), archived), 200, []bool{false}},
		"c-2-2-5 permit by subject":       {evaluation, ask(admin, named("write"), archived), 200, []bool{true}},
		"c-2-2-6 permit by action":        {evaluation, ask(alice, `{"name":"delete","properties":{"soft":true}}`, one), 200, []bool{true}},
		"c-2-2-7 deny by action":          {evaluation, ask(alice, `{"name":"delete","properties":{"soft":false}}`, one), 200, []bool{false}},
		"c-2-2-8 more properties":         {evaluation, ask(`{"type":"user","id":"alice","properties":{"department":"Sales","role":"manager"}}`, `{"name":"read","properties":{"method":"GET"}}`, `{"type":"record","id":"record-1","properties":{"status":"active","owner":"bob"}}`), 200, []bool{true}},
		"c-2-2-9 unknown fields":          {evaluation, `{"subject":` + alice + `,"action":{"name":"read"},"resource":` + one + `,"foo":"bar","futureField":{"nested":true}}`, 200, []bool{true}},
		"c-2-4-1 no subject":              {evaluation, `{"action":{"name":"read"},"resource":` + one + `}`, 400, nil},
		"c-2-4-1 no action":               {evaluation, `{"subject":` + alice + `,"resource":` + one + `}`, 400, nil},
		"c-2-4-1 no resource":             {evaluation, `{"subject":` + alice + `,"action":{"name":"read"}}`, 400, nil},
		"c-2-4-2 subject without type":    {evaluation, ask(`{"id":"alice"}`, named("read"), one), 400, nil},
		"c-2-4-2 subject without id":      {evaluation, ask(`{"type":"user"}`, named("read"), one), 400, nil},
		"c-2-4-2 action without name":     {evaluation, ask(alice, `{}`, one), 400, nil},
		"c-2-4-2 resource without type":   {evaluation, ask(alice, named("read"), `{"id":"record-1"}`), 400, nil},
		"c-2-4-2 resource without id":     {evaluation, ask(alice, named("read"), `{"type":"record"}`), 400, nil},
		"c-2-4-4 no JSON":                 {evaluation, `{"subject":`, 400, nil},
		"c-2-4-5 nothing":                 {evaluation, ``, 400, nil},
		"c-2-4-6 subject is a text":       {evaluation, ask(`"alice"`, named("read"), one), 400, nil},
		"c-2-4-6 name is a number":        {evaluation, ask(alice, `{"name":123}`, one), 400, nil},
		"a key twice":                     {evaluation, `{"subject":` + bob + `,"subject":` + alice + `,"action":{"name":"write"},"resource":` + one + `}`, 400, nil},
		"keys that differ in case":        {evaluation, ask(`{"type":"user","id":"bob","ID":"alice"}`, named("write"), one), 400, nil},
		"an array":                        {evaluation, `[` + ask(alice, named("read"), one) + `]`, 400, nil},
		"null":                            {evaluation, `null`, 400, nil},
		"context is no object":            {evaluation, `{"subject":` + alice + `,"action":{"name":"read"},"resource":` + one + `,"context":null}`, 400, nil},
		"properties are no object":        {evaluation, ask(`{"type":"user","id":"alice","properties":[]}`, named("read"), one), 400, nil},
		"an empty id":                     {evaluation, ask(`{"type":"user","id":""}`, named("read"), one), 400, nil},
		"c-3-2-1 batch":                   {evaluations, `{"subject":` + alice + `,"action":{"name":"read"},"evaluations":[{"resource":` + one + `},{"resource":{"type":"record","id":"record-2"}}]}`, 200, []bool{true, true}},
		"c-3-2-2 order":                   {evaluations, `{"subject":` + bob + `,"resource":` + one + `,"evaluations":[{"action":{"name":"read"}},{"action":{"name":"write"}}]}`, 200, []bool{true, false}},
		"c-3-2-3 properties":              {evaluations, `{"subject":` + alice + `,"action":{"name":"write"},"evaluations":[{"resource":` + active + `},{"resource":` + archived + `}]}`, 200, []bool{true, false}},
		"c-3-2-4 subjects":                {evaluations, `{"action":{"name":"write"},"resource":` + archived + `,"evaluations":[{"subject":` + alice + `},{"subject":` + admin + `}]}`, 200, []bool{false, true}},
		"c-3-2-5 no defaults":             {evaluations, `{"evaluations":[` + ask(alice, named("read"), one) + `,` + ask(bob, named("write"), one) + `]}`, 200, []bool{true, false}},
		"c-3-2-6 context":                 {evaluations, `{"subject":` + alice + `,"action":{"name":"read"},"context":{"time":"2025-06-27T18:03-07:00"},"evaluations":[{"resource":` + one + `},{"resource":{"type":"record","id":"record-2"},"context":{"time":"2025-06-27T19:00-07:00","source":"batch-override"}}]}`, 200, []bool{true, true}},
		"c-3-2-7 defaults below":          {evaluations, `{"subject":` + alice + `,"action":{"name":"write"},"resource":{"type":"record"},"evaluations":[{"resource":{"id":"record-1","properties":{"status":"active"}}},{"resource":` + archived + `}]}`, 200, []bool{true, false}},
		"c-3-4-1 one is wrong":            {evaluations, `{"subject":` + alice + `,"action":{"name":"read"},"evaluations":[{"resource":` + one + `},{}]}`, 200, []bool{true, false}},
		"c-3-4-2 no evaluations":          {evaluations, ask(alice, named("read"), one), 200, []bool{true}},
		"c-3-4-3 empty":                   {evaluations, `{"subject":` + alice + `,"action":{"name":"read"},"resource":` + one + `,"evaluations":[]}`, 200, []bool{true}},
		"semantics: all":                  {evaluations, `{"subject":` + alice + `,"action":{"name":"write"},"options":{"evaluations_semantic":"execute_all","another_option":"value"},"evaluations":[{"resource":` + one + `},{"resource":` + archived + `},{"resource":` + active + `}]}`, 200, []bool{true, false, true}},
		"semantics: deny on first deny":   {evaluations, `{"subject":` + alice + `,"action":{"name":"write"},"options":{"evaluations_semantic":"deny_on_first_deny"},"evaluations":[{"resource":` + one + `},{"resource":` + archived + `},{"resource":` + active + `}]}`, 200, []bool{true, false}},
		"semantics: permit on first":      {evaluations, `{"subject":` + alice + `,"action":{"name":"write"},"options":{"evaluations_semantic":"permit_on_first_permit"},"evaluations":[{"resource":` + archived + `},{"resource":` + one + `},{"resource":` + active + `}]}`, 200, []bool{false, true}},
		"semantics: unknown":              {evaluations, `{"subject":` + alice + `,"action":{"name":"write"},"options":{"evaluations_semantic":"majority"},"evaluations":[{"resource":` + one + `}]}`, 400, nil},
		"too many":                        {evaluations, `{"evaluations":[` + strings.Repeat(ask(alice, named("read"), one)+",", authzen.MaxEvaluations) + `{}]}`, 400, nil},
		"evaluations are no array":        {evaluations, `{"evaluations":{}}`, 400, nil},
		"5.1 of the specification":        {evaluation, `{"subject":{"type":"user","id":"alice@acmecorp.com"},"resource":{"type":"account","id":"123"},"action":{"name":"can_read","properties":{"method":"GET"}},"context":{"time":"1985-10-26T01:22-07:00"}}`, 200, []bool{false}},
		"boxcarring of the specification": {evaluations, `{"subject":{"type":"user","id":"alice@acmecorp.com"},"context":{"time":"2024-05-31T15:22-07:00"},"action":{"name":"read"},"evaluations":[{"resource":{"type":"document","id":"boxcarring.md"}},{"resource":{"type":"document","id":"subject-search.md"}},{"action":{"name":"can_edit"},"resource":{"type":"document","id":"resource-search.md"}}]}`, 200, []bool{true, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := pdp(g, proxytest.BobsToken, "POST", tt.path, tt.body, "X-Request-ID", "bfe9eb29")
			if resp.StatusCode != tt.status || resp.Header.Get("X-Request-ID") != "bfe9eb29" || resp.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("status %d, want %d: %v %s", resp.StatusCode, tt.status, resp.Header, body)
			}
			if tt.status == 200 && fmt.Sprint(decisions(t, body)) != fmt.Sprint(tt.want) {
				t.Errorf("decided %s, want %v", body, tt.want)
			}
		})
	}
	if resp, body := pdp(g, proxytest.BobsToken, "POST", evaluation, ask(alice, named("read"), one), "Content-Type", "text/plain"); resp.StatusCode != 400 {
		t.Errorf("c-2-4-3, a text: %d %s", resp.StatusCode, body)
	}
	for range 3 { // c-2-6
		if _, body := pdp(g, proxytest.BobsToken, "POST", evaluation, ask(alice, named("read"), one)); body != `{"decision":true}`+"\n" {
			t.Errorf("asked again: %s", body)
		}
	}
	g.Pending(0)
	g.Verified()
}

func TestAuthZENIsForConfiguredClientsAlone(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	const ask = `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"record-1"}}`
	for name, tt := range map[string]struct {
		token  string
		header []string
		status int
	}{
		"a client":        {proxytest.AnnsToken, nil, 200},
		"nobody":          {"", nil, 401},
		"another agent":   {carlsToken, nil, 403},
		"an unknown one":  {"hgt_" + strings.Repeat("e", 64), nil, 401},
		"a provider's":    {"sk-1", nil, 401},
		"a web page":      {proxytest.AnnsToken, []string{"Origin", "https://example.com"}, 403},
		"another site":    {proxytest.AnnsToken, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"its own header":  {"", []string{"Holdgate-Token", proxytest.AnnsToken}, 200},
		"two credentials": {proxytest.AnnsToken, []string{"Holdgate-Token", proxytest.BobsToken}, 401},
	} {
		for _, path := range []string{evaluation, evaluations} {
			if resp, body := pdp(g, tt.token, "POST", path, ask, tt.header...); resp.StatusCode != tt.status || strings.Contains(body, `"decision":true`) != (tt.status == 200) {
				t.Errorf("%s at %s: %d %s, want %d", name, path, resp.StatusCode, body, tt.status)
			}
		}
	}
	if n := len(g.Entries(audit.TypeRefused)); n == 0 {
		t.Error("the log does not say who was sent away")
	}
	if resp, _ := pdp(g, carlsToken, "GET", requests+"/x", ""); resp.StatusCode != 403 {
		t.Errorf("a task for who is no client: %d", resp.StatusCode)
	}
	resp, body := pdp(g, "", "GET", "/.well-known/authzen-configuration", "")
	if m := proxytest.Read[authzen.Metadata](t, body); resp.StatusCode != 200 || m.Point != g.URL || m.Evaluation != g.URL+evaluation || m.Evaluations != g.URL+evaluations || m.Requests != g.URL+requests {
		t.Errorf("metadata: %d %s", resp.StatusCode, body)
	}
	none := proxytest.New(t, http.NotFoundHandler())
	if resp, body := pdp(none, "", "POST", evaluation, ask); resp.StatusCode != 401 {
		t.Errorf("without clients: %d %s", resp.StatusCode, body)
	}
}

func TestAuthZENSaysWhoseWordTheSubjectIs(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	const ask = `{"subject":{"type":"user","id":"alice"},"action":{"name":"own"},"resource":{"type":"record","id":"r"},"context":{"tenant":"a"}}`
	for token, want := range map[string]bool{proxytest.AnnsToken: true, proxytest.BobsToken: false} {
		if _, body := pdp(g, token, "POST", evaluation, ask); decisions(t, body)[0] != want {
			t.Errorf("decided %s, want %v", body, want)
		}
	}
	if _, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, strings.Replace(ask, "alice", "eve", 1)); decisions(t, body)[0] {
		t.Errorf("another subject: %s", body)
	}
}

// denial is what the profile has of a denied evaluation.
type denial struct {
	Decision bool
	Context  authzen.Context
}

func submission(ask string, d denial, more string) string {
	return fmt.Sprintf(`%s%s,"denial":{"evaluation_id":%q,"evaluated_at":"2026-04-30T20:15:00Z","expires_at":%q,"reason":%q}}`,
		strings.TrimSuffix(ask, "}"), more, d.Context.EvaluationID, d.Context.Request.ExpiresAt.Format(time.RFC3339), d.Context.Reason)
}

const askGated = `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"document","id":"gated-q4"},"context":{"tenant":"a","time":"2026-04-30T20:15:00Z"}}`

func showing(ask, approval string) string {
	return strings.Replace(ask, `"context":{`, `"context":{"approval":{"id":"`+approval+`","approved_until":"2030-01-01T00:00:00Z"},`, 1)
}

func TestAuthZENADenialIsRequestedApprovedAndEvaluatedAnew(t *testing.T) {
	t.Parallel()
	rungs := make(chan gate.Rung, 9)
	g := newPDP(t, func(c *proxy.Config) { c.OnHeld = func(r gate.Rung) { rungs <- r } })
	resp, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, askGated)
	d := proxytest.Read[denial](t, body)
	if resp.StatusCode != 200 || d.Decision || d.Context.Reason != "approval_required" || d.Context.Text["en"] != "A person must approve this, and can be asked. it says gated" || d.Context.Request == nil || d.Context.Request.Endpoint != g.URL+requests {
		t.Fatalf("evaluated: %d %s", resp.StatusCode, body)
	}
	g.Pending(0) // nobody is asked yet

	submitted := submission(askGated, d, `,"requested_access":{"emergency":true}`)
	submitted = strings.Replace(submitted, `"context":{`, `"context":{"business_justification":"renewal review",`, 1)
	resp, body = pdp(g, proxytest.AnnsToken, "POST", requests, submitted, "Idempotency-Key", "k1")
	task := proxytest.Read[authzen.Tasked](t, body)
	if resp.StatusCode != 202 || task.Task.Status != "pending" || task.Result != nil || resp.Header.Get("Location") != task.Task.Endpoint || task.Task.Endpoint != g.URL+requests+"/"+task.Task.ID {
		t.Fatalf("submitted: %d %s", resp.StatusCode, body)
	}
	if r := <-rungs; r != gate.RungAccess {
		t.Errorf("the client waits by %s", r)
	}
	r := g.Pending(1)[0]
	if r.Door != "authzen" || r.Agent.ID != "ann" || r.Session.ID != "user:alice" || r.Call.Tool.Name != "read" || !strings.Contains(r.Briefing.Place.Task, "renewal review") || strings.Contains(string(r.Call.Tool.Arguments), "renewal") {
		t.Errorf("people see %+v", r)
	}
	_, again := pdp(g, proxytest.AnnsToken, "POST", requests, submitted, "Idempotency-Key", "k1")
	if proxytest.Read[authzen.Tasked](t, again).Task.ID != task.Task.ID {
		t.Errorf("submitted again: %s", again)
	}
	if resp, body := pdp(g, proxytest.AnnsToken, "POST", requests, submission(askGated, d, ""), "Idempotency-Key", "k1"); resp.StatusCode != 409 || !strings.Contains(body, "duplicate_request") {
		t.Errorf("the key with another body: %d %s", resp.StatusCode, body)
	}
	for what, ask := range map[string]string{"plain": askGated, "with the task": showing(askGated, task.Task.ID)} {
		if _, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, ask); decisions(t, body)[0] {
			t.Errorf("evaluated before the approval, %s: %s", what, body)
		}
	}
	if resp, _ := pdp(g, proxytest.BobsToken, "GET", requests+"/"+task.Task.ID, ""); resp.StatusCode != 404 {
		t.Errorf("another client's task: %d", resp.StatusCode)
	}

	answered := make(chan string, 1)
	go func() {
		_, body := pdp(g, proxytest.AnnsToken, "GET", requests+"/"+task.Task.ID+"?wait=60s", "")
		answered <- body
	}()
	g.Decide(r, holdgate.AnswerApprove, "")
	task = proxytest.Read[authzen.Tasked](t, <-answered)
	if task.Task.Status != "approved" || task.Result == nil || task.Result.Mode != "reevaluate" || time.Until(task.Result.Approval.ApprovedUntil) < time.Minute {
		t.Fatalf("approved: %+v", task)
	}
	id := task.Result.Approval.ID
	for what, tt := range map[string]struct{ token, ask string }{
		"without the approval":     {proxytest.AnnsToken, askGated},
		"by another client":        {proxytest.BobsToken, showing(askGated, id)},
		"another subject":          {proxytest.AnnsToken, strings.Replace(showing(askGated, id), "alice", "eve", 1)},
		"another subject property": {proxytest.AnnsToken, strings.Replace(showing(askGated, id), `"id":"alice"`, `"id":"alice","properties":{"role":"x"}`, 1)},
		"another action":           {proxytest.AnnsToken, strings.Replace(showing(askGated, id), `"read"`, `"write"`, 1)},
		"another resource":         {proxytest.AnnsToken, strings.Replace(showing(askGated, id), "gated-q4", "gated-q5", 1)},
		"another resource type":    {proxytest.AnnsToken, strings.Replace(showing(askGated, id), `"document"`, `"folder"`, 1)},
		"another context":          {proxytest.AnnsToken, strings.Replace(showing(askGated, id), `"tenant":"a"`, `"tenant":"b"`, 1)},
		"more context":             {proxytest.AnnsToken, strings.Replace(showing(askGated, id), `"tenant":"a"`, `"tenant":"a","x":1`, 1)},
		"another approval":         {proxytest.AnnsToken, showing(askGated, "AAAA-BBBB-CCCC-DDDD")},
	} {
		if _, body := pdp(g, tt.token, "POST", evaluation, tt.ask); decisions(t, body)[0] {
			t.Errorf("%s: %s", what, body)
		}
	}
	g.Pending(0)
	later := strings.Replace(showing(askGated, id), "20:15:00Z", "20:43:00Z", 1)
	later = strings.Replace(later, `{"type":"user","id":"alice"}`, "{ \"id\" : \"\\u0061lice\", \"type\":\"user\" }", 1) // the same in other bytes
	_, body = pdp(g, proxytest.AnnsToken, "POST", evaluation, later)
	if v := proxytest.Read[denial](t, body); !v.Decision || v.Context.Approval == nil || v.Context.Approval.ID != id {
		t.Fatalf("evaluated anew: %s", body)
	}
	if _, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, later); decisions(t, body)[0] {
		t.Errorf("the approval was used twice: %s", body)
	}
	if n := len(g.Entries(audit.TypeUsed)); n != 1 {
		t.Errorf("%d uses in the log", n)
	}
	g.Verified()
}

func TestAuthZENAnApprovalIsUsedOnceHoweverManyShowIt(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	_, body := pdp(g, proxytest.BobsToken, "POST", evaluation, askGated)
	_, body = pdp(g, proxytest.BobsToken, "POST", requests, submission(askGated, proxytest.Read[denial](t, body), ""))
	id := proxytest.Read[authzen.Tasked](t, body).Task.ID
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	var all sync.WaitGroup
	permitted := make(chan bool, 8)
	for range cap(permitted) {
		all.Go(func() {
			_, body := pdp(g, proxytest.BobsToken, "POST", evaluation, showing(askGated, id))
			permitted <- strings.Contains(body, `"decision":true`)
		})
	}
	all.Wait()
	close(permitted)
	n := 0
	for p := range permitted {
		if p {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d evaluations were permitted, want 1", n)
	}
}

func TestAuthZENRefusesSubmissionsThatNoDenialIsBehind(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	_, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, askGated)
	d := proxytest.Read[denial](t, body)
	_, body = pdp(g, proxytest.AnnsToken, "POST", evaluation, strings.Replace(askGated, "gated-q4", "gated-q5", 1))
	of := proxytest.Read[denial](t, body)
	for name, tt := range map[string]struct {
		token, body string
		status      int
		says        string
	}{
		"another client":   {proxytest.BobsToken, submission(askGated, d, ""), 400, "invalid_denial_binding"},
		"another resource": {proxytest.AnnsToken, submission(askGated, of, ""), 400, "invalid_denial_binding"},
		"context removed":  {proxytest.AnnsToken, submission(strings.Replace(askGated, `"tenant":"a",`, "", 1), d, ""), 400, "invalid_denial_binding"},
		"context changed":  {proxytest.AnnsToken, submission(strings.Replace(askGated, `"tenant":"a"`, `"tenant":"b"`, 1), d, ""), 400, "invalid_denial_binding"},
		"no denial":        {proxytest.AnnsToken, askGated, 400, "invalid_denial_binding"},
		"forged":           {proxytest.AnnsToken, strings.Replace(submission(askGated, d, ""), d.Context.EvaluationID, d.Context.EvaluationID[:40]+"."+strings.Repeat("0", 64), 1), 400, "invalid_denial_binding"},
		"items":            {proxytest.AnnsToken, submission(askGated, d, `,"items":[]`), 400, "items are not served"},
		"callback":         {proxytest.AnnsToken, submission(askGated, d, `,"callback":{}`), 400, "callbacks are not served"},
		"a key twice":      {proxytest.AnnsToken, submission(askGated, d, `,"subject":{"type":"user","id":"alice"}`), 400, ""},
	} {
		if resp, body := pdp(g, tt.token, "POST", requests, tt.body); resp.StatusCode != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d %s, want %d %s", name, resp.StatusCode, body, tt.status, tt.says)
		}
	}
	g.Pending(0)
	if resp, body := pdp(g, proxytest.AnnsToken, "GET", requests+"/AAAA", ""); resp.StatusCode != 404 || !strings.Contains(body, "unknown_task") {
		t.Errorf("an unknown task: %d %s", resp.StatusCode, body)
	}
	if resp, _ := pdp(g, proxytest.AnnsToken, "POST", requests+"/AAAA/cancel", ""); resp.StatusCode != 404 {
		t.Errorf("cancelling: %d", resp.StatusCode)
	}
}

func TestAuthZENATaskSaysWhatPeopleAnswered(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	for answer, words := range map[holdgate.Answer]string{holdgate.AnswerDeny: "not today", holdgate.AnswerSteer: "read the summary"} {
		_, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, askGated)
		_, body = pdp(g, proxytest.AnnsToken, "POST", requests, submission(askGated, proxytest.Read[denial](t, body), ""))
		id := proxytest.Read[authzen.Tasked](t, body).Task.ID
		g.Decide(g.Pending(1)[0], answer, words)
		_, body = pdp(g, proxytest.AnnsToken, "GET", requests+"/"+id, "")
		if v := proxytest.Read[authzen.Tasked](t, body); v.Task.Status != "denied" || v.Result != nil || !strings.Contains(v.Task.Display.Description, words) {
			t.Errorf("%s: %s", answer, body)
		}
		if _, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, showing(askGated, id)); decisions(t, body)[0] {
			t.Errorf("%s, evaluated anew: %s", answer, body)
		}
	}
	g.Pending(0)
}

func TestAuthZENAClientThatWaitsHasPeopleAskedAtOnce(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	for _, answer := range []holdgate.Answer{holdgate.AnswerApprove, holdgate.AnswerDeny} {
		got := make(chan string, 1)
		go func() { _, body := pdp(g, waitsToken, "POST", evaluation, askGated); got <- body }()
		g.Decide(g.Pending(1)[0], answer, "says ann")
		if body := <-got; decisions(t, body)[0] != (answer == holdgate.AnswerApprove) || !strings.Contains(body, "says ann") {
			t.Errorf("%s: %s", answer, body)
		}
	}
	if n := len(g.Entries(audit.TypeUsed)); n != 1 {
		t.Errorf("%d approvals were used", n)
	}
}

func TestAuthZENAnImpatientClientAsksAgain(t *testing.T) {
	t.Parallel()
	var wait atomic.Int64
	wait.Store(1)
	rungs := make(chan gate.Rung, 9)
	g := newPDP(t, func(c *proxy.Config) {
		c.OnHeld = func(r gate.Rung) { rungs <- r }
		c.AuthZEN.Clients = func(string) (authzen.Client, bool) {
			return authzen.Client{Wait: time.Duration(wait.Load())}, true
		}
	})
	for range 2 {
		_, body := pdp(g, waitsToken, "POST", evaluation, askGated)
		if d := proxytest.Read[denial](t, body); d.Decision || d.Context.Request == nil || !strings.Contains(d.Context.Text["en"], "Ask again later") {
			t.Fatalf("evaluated: %s", body)
		}
		if first, then := <-rungs, <-rungs; first != gate.RungLine || then != gate.RungAgain {
			t.Errorf("the client waits by %s and %s", first, then)
		}
	}
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	for _, tt := range []struct {
		wait time.Duration
		want bool
	}{{proxytest.Patience, true}, {1, false}} {
		wait.Store(int64(tt.wait))
		if _, body := pdp(g, waitsToken, "POST", evaluation, askGated); decisions(t, body)[0] != tt.want {
			t.Errorf("asked again: %s, want %v", body, tt.want)
		}
	}
}

// An evaluation of tools/call is a call of that tool, as the default mapping of COAZ-MCP has it.
func TestAuthZENAToolOfMCPIsThatTool(t *testing.T) {
	t.Parallel()
	g := newPDP(t, proxytest.WithShippedPolicy())
	ask := func(properties, arguments string) string {
		return `{"subject":{"type":"identity","id":"alice@example.com"},"context":{"agent":"http://agentprovider.com/agent-app-id"},"action":{"name":"tools/call"` + arguments + `},"resource":{"type":"tool","id":"run_command"` + properties + `}}`
	}
	for name, tt := range map[string]struct{ ask, server, arguments string }{
		"as the binding maps it": {ask(``, ``), "", ""},
		"with its arguments":     {ask(`,"properties":{"server":"shell"}`, `,"properties":{"arguments":{"command":"rm -rf /"}}`), "shell", `{"command":"rm -rf /"}`},
	} {
		resp, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, tt.ask)
		d := proxytest.Read[denial](t, body)
		if resp.StatusCode != 200 || d.Decision || d.Context.Request == nil {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
			continue
		}
		pdp(g, proxytest.AnnsToken, "POST", requests, submission(tt.ask, d, ""))
		r := g.Pending(1)[0]
		if r.Call.Tool.Name != "run_command" || r.Call.Tool.Server != tt.server || string(r.Call.Tool.Arguments) != tt.arguments {
			t.Errorf("%s: people see %+v", name, r.Call.Tool)
		}
		g.Decide(r, holdgate.AnswerDeny, "")
	}
	if resp, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, ask(`,"properties":{"server":"authzen"}`, ``)); resp.StatusCode != 400 {
		t.Errorf("a server that is none: %d %s", resp.StatusCode, body)
	}
}

func TestAuthZENHeedsWhoIsPausedAndStopped(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	const ask = `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"record-1"}}`
	for _, how := range []agents.Action{agents.Pause, agents.Stop} {
		g.Intervene("ann", how)
		if _, body := pdp(g, proxytest.AnnsToken, "POST", evaluation, ask); decisions(t, body)[0] {
			t.Errorf("%s: %s", how, body)
		}
	}
	if _, body := pdp(g, proxytest.BobsToken, "POST", evaluation, ask); !decisions(t, body)[0] {
		t.Errorf("another client: %s", body)
	}
}

func TestAuthZENAClientIsBounded(t *testing.T) {
	t.Parallel()
	g := newPDP(t, func(c *proxy.Config) { c.Quotas = func() gate.Limits { return gate.Limits{Decisions: 0.5} } })
	const ask = `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"record-1"}}`
	var denied int
	for range 4 {
		_, body := pdp(g, proxytest.BobsToken, "POST", evaluation, ask)
		if !decisions(t, body)[0] {
			denied++
			if !strings.Contains(body, "rate_limited") {
				t.Errorf("denied: %s", body)
			}
		}
	}
	if denied == 0 {
		t.Error("a flood is answered")
	}
}

// What nobody can decide or write is denied.
func TestAuthZENFailsClosed(t *testing.T) {
	t.Parallel()
	g := newPDP(t)
	proxytest.Must(t, g.Store.Close())
	resp, body := pdp(g, proxytest.BobsToken, "POST", evaluation, `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"record-1"}}`)
	if resp.StatusCode == 200 && decisions(t, body)[0] {
		t.Errorf("without a store: %d %s", resp.StatusCode, body)
	}
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		t.Errorf("no JSON: %s", body)
	}
}
