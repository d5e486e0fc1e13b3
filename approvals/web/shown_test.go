package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

// has checks that a page says all of that.
func has(t *testing.T, page, name string, says ...string) {
	t.Helper()
	for _, s := range says {
		if !strings.Contains(html.UnescapeString(page), s) {
			t.Errorf("%s does not say %q", name, s)
		}
	}
}

var builder = approvals.Caller{Agent: holdgate.Agent{ID: "builder", Proven: true}, Session: holdgate.Session{ID: "s1"}, Door: "up/anthropic"}

// A gate's question is read where its title is, as the agent's word.
func TestWhatAGateAsksStandsNearItsTitle(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	r := h.holdCall(builder, holdgate.RiskHigh, holdgate.Call{Kind: holdgate.KindGate, Gate: &holdgate.Gate{Type: "deploy", Message: "Shall I\ndeploy \u202e2.0? " + strings.Repeat("It is tested. ", 60)}}, holdgate.HoldSpec{Gate: "deploy"})
	has(t, b.get("/"), "the list", "the agent asks: “Shall I deploy ⟨U+202E⟩2.0?")
	page := html.UnescapeString(b.get("/requests/" + r.ID))
	at := strings.Index(page, "“Shall I deploy ⟨U+202E⟩2.0?")
	if call := strings.Index(page, `class="call"`); at < 0 || at > call || !strings.Contains(page[strings.Index(page, "</h1>"):at], "its word, not checked") {
		t.Errorf("the question is at %d, and the call at %d", at, call)
	}
}

// Opening the form of a session's mode and pressing Set changes nothing.
func TestTheModeOfASessionIsPreselected(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	h.hold(holdgate.RiskMedium, `{"command":"make"}`, holdgate.HoldSpec{})
	const path = "/sessions/s1?agent=builder"
	for _, tt := range []struct{ mode, threshold, shown string }{{"manual", "", "0.7"}, {"confidence_threshold", "0.85", "0.85"}, {"auto", "", "0.7"}} {
		revision := regexp.MustCompile(`name="revision" value="(\d+)"`).FindStringSubmatch(b.get(path))[1]
		if status, text, _ := b.do(http.MethodPost, "/sessions/s1", url.Values{"agent": {"builder"}, "revision": {revision}, "mode": {tt.mode}, "threshold": {tt.threshold}}); status != http.StatusSeeOther {
			t.Fatalf("%s: %d\n%s", tt.mode, status, excerpt(text))
		}
		page := b.get(path)
		chosen := regexp.MustCompile(`<option value="([^"]*)" selected`).FindAllStringSubmatch(page, -1)
		if tt.mode != "auto" && (len(chosen) != 1 || chosen[0][1] != tt.mode) || tt.mode == "auto" && len(chosen) != 0 { // the first is, without a word
			t.Errorf("%s: %v is chosen", tt.mode, chosen)
		}
		has(t, page, tt.mode, `value="`+tt.shown+`"`, "waits for a person")
	}
}

// What was called, and why policy asked, stands in the history and on a session's page.
func TestTheHistorySaysWhatWasCalled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
	has(t, b.get("/agents"), "the agents", `<b class="hold">hold</b> <a href="/requests/`+r.ID+`">Bash: rm -rf build</a>`, "waits for a person")
	b.answer(r, "decision", "deny", "text", "not today")
	for _, path := range []string{"/history", "/sessions/s1?agent=builder", "/history?type=outcome"} {
		page := b.get(path)
		has(t, page, path, "<code>Bash: rm -rf build</code>", "ada: not today")
		if path != "/history?type=outcome" {
			has(t, page, path, "files.delete: deletes files")
		}
	}
}

// The file has the entries that the filters show, as the log has them.
func TestAnExportIsWhatTheFiltersShow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	for i := range 3 {
		b.answer(h.hold(holdgate.RiskHigh, fmt.Sprintf(`{"command":"rm -rf b%d"}`, i), holdgate.HoldSpec{}), "decision", "deny")
	}
	var whole bytes.Buffer
	must(t, h.log.Export(t.Context(), &whole))
	for _, query := range []string{"", "?type=outcome", "?q=rm+-rf+b1&type=decision", "?agent=nobody"} {
		link := html.UnescapeString(regexp.MustCompile(`href="(/history/export[^"]*)"`).FindStringSubmatch(b.get("/history" + query))[1])
		status, text, head := b.do(http.MethodGet, link, nil)
		if status != http.StatusOK || !strings.HasPrefix(head.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %d, %v", link, status, head)
		}
		want := ""
		list, err := h.log.Query(t.Context(), audit.Query{Limit: 1000})
		must(t, err)
		if query == "" {
			want = whole.String()
		}
		for _, e := range list {
			line, err := json.Marshal(e)
			must(t, err)
			if query == "?type=outcome" && e.Type == audit.TypeOutcome || strings.Contains(query, "b1") && e.Type == audit.TypeDecision && strings.Contains(string(e.Input), "b1") {
				want += string(line) + "\n"
			}
		}
		if text != want {
			t.Errorf("%s: got\n%s\nwant\n%s", link, text, want)
		}
	}
}

// Whoever has approved what takes two people is not asked again, and can still deny it.
func TestAVoteIsNotAskedForTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada, bob := h.signIn("ada"), h.signIn("bob")
	r := h.hold(holdgate.RiskHigh, `{"command":"rm -rf build"}`, holdgate.HoldSpec{Approvers: holdgate.Approvers{Quorum: 2}})
	forMe := func(b *browser) bool { return strings.Contains(b.get("/"), "For you to decide") }
	if !forMe(ada) || !forMe(bob) {
		t.Fatal("it is not for both")
	}
	ada.answer(r, "decision", "approve")
	if forMe(ada) || !forMe(bob) || !strings.Contains(ada.get("/"), r.ID) {
		t.Errorf("after ada's vote it is for ada: %v, for bob: %v", forMe(ada), forMe(bob))
	}
	page := ada.get("/requests/" + r.ID)
	has(t, page, "ada's page", "You approved it; 1 more is needed.", `value="deny"`)
	if strings.Contains(page, `value="approve"`) || strings.Contains(page, `name="sure"`) {
		t.Error("ada is asked again")
	}
	if strings.Contains(bob.get("/requests/"+r.ID), "You approved it") {
		t.Error("bob is told that he approved it")
	}
	if _, _, now := ada.answer(r, "decision", "deny"); now.Status != holdgate.StatusDenied {
		t.Errorf("it is %s", now.Status)
	}
}

// A form without what it is about says what is missing, and leads back.
func TestAFormThatIsNotWholeSaysWhat(t *testing.T) {
	t.Parallel()
	h := newHouse(t, governed)
	b := h.signIn("ada")
	r := h.hold(holdgate.RiskLow, `{"command":"make"}`, holdgate.HoldSpec{Kind: holdgate.RequestChoice, Options: []holdgate.Option{{ID: "a", Label: "A", Effect: "approve"}, {ID: "b", Label: "B", Effect: "deny"}}})
	if page := b.get("/requests/" + r.ID); strings.Count(page, `name="choice" value="a" required`)+strings.Count(page, `name="choice" value="b" required`) != 2 {
		t.Error("an option is not required")
	}
	status, text, now := b.answer(r, "decision", "choose")
	if status != http.StatusUnprocessableEntity || now.Status != holdgate.StatusPending {
		t.Errorf("nothing chosen: %d, and it is %s", status, now.Status)
	}
	has(t, text, "nothing chosen", "Choose one of the options first")
	has(t, b.get("/requests/"+r.ID), "the choice", "No standing approval is possible: a choice is made each time.")

	_, port, _ := strings.Cut(strings.TrimPrefix(h.http.URL, "http://"), ":")
	status, text, _ = b.do(http.MethodPost, "/agents", url.Values{"agent": {"builder"}, "action": {"redirect"}, "text": {" "}}, "Referer", "http://"+name+".localhost:"+port+"/agents")
	if status != http.StatusUnprocessableEntity {
		t.Errorf("redirected to nothing: %d", status)
	}
	has(t, text, "redirected to nothing", "Write what the agent is to do instead", `<a href="/agents">Back</a>`)
	if _, text, _ = b.do(http.MethodPost, "/agents", url.Values{"agent": {"builder"}, "action": {"redirect"}}, "Referer", "http://evil.example/agents"); strings.Contains(text, "Back") {
		t.Error("it leads back to another site")
	}
}

// What came of a rule is said once, however many sources it has.
func TestARuleOfThePolicyHasOneRow(t *testing.T) {
	t.Parallel()
	h := newHouse(t, governed)
	b := h.signIn("ada")
	for range 3 {
		h.hold(holdgate.RiskHigh, `{"command":"rm -rf build"}`, holdgate.HoldSpec{})
	}
	page := b.get("/policy")
	rows := regexp.MustCompile(`<tr><td><a href="/rules\?id=files.delete">.*?</tr>`).FindAllString(page, -1)
	if len(rows) != 1 {
		t.Fatalf("files.delete has %d rows", len(rows))
	}
	has(t, rows[0], "its row", "<td>Deleting files<br>Emptying files</td>", `data-label="risk">high, medium</td>`, `data-label="asked">3</td>`)
	if first, other := strings.Index(page, "?id=files.delete\">files"), strings.Index(page, "?id=commands.publish\">commands"); first < 0 || other < first {
		t.Errorf("the rule that asked stands at %d, and the other at %d", first, other)
	}
}

// An input that is tried is answered with a sentence, where the form is.
func TestAnInputIsTried(t *testing.T) {
	t.Parallel()
	b := newHouse(t, governed).signIn("ada")
	has(t, b.get("/policy"), "the form", `action="/policy/try#try"`, `id="try"`)
	_, text, _ := b.do(http.MethodPost, "/policy/try", url.Values{"input": {`{"kind":"tool_call"}`}})
	has(t, text, "the answer", "This call would wait for a person, by the rule", "It publishes what others use.", `"action": "hold"`)
}

// What runs is read before a text of which only the beginning is shown.
func TestWhatRunsStandsBeforeWhatIsFolded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.facts = holdgate.Facts{Commands: []holdgate.Command{{Program: "rm", Argv: []string{"rm", "-rf", "/srv"}}, {Program: "echo", Argv: []string{"echo", "a"}}}}
	r := h.hold(holdgate.RiskLow, `{"command":"`+strings.Repeat(`echo a\n`, 100)+`rm -rf /srv"}`, holdgate.HoldSpec{})
	page := h.signIn("ada").get("/requests/" + r.ID)
	runs, folded := strings.Index(page, "what runs, the most dangerous first"), strings.Index(page, "lines are not shown")
	if runs < 0 || folded < runs {
		t.Errorf("what runs is at %d, what is folded ends at %d", runs, folded)
	}
}

// A row says at once how many calls it is.
func TestARowSaysHowManyAreAlike(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.facts = holdgate.Facts{Category: "exec", Commands: []holdgate.Command{{Program: "npm", Argv: []string{"npm", "install", "p"}}}}
	for i := range 3 {
		h.hold(holdgate.RiskMedium, fmt.Sprintf(`{"command":"npm install p%d"}`, i), holdgate.HoldSpec{})
	}
	has(t, h.signIn("ada").get("/"), "the row", `<b class="sum">3 alike: `)
}
