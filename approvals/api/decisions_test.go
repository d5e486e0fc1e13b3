package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

func TestApproveBindsTheDigestAndTheCredentialsName(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision",
		fmt.Sprintf(`{"decision":"approve","digest":%q,"reason":"it is my build folder"}`, r.Call.Digest), api.ChannelHeader, "cli")
	if status != http.StatusOK {
		t.Fatalf("approving: %d %s", status, body)
	}
	got := decode[approvals.Request](t, body)
	if got.Status != holdgate.StatusApproved || got.Outcome == nil || got.Outcome.By != "ada" || got.Outcome.Reason != "it is my build folder" {
		t.Errorf("approved request is %s", body)
	}
	if len(got.Votes) != 1 || got.Votes[0].Channel != "cli" || got.Votes[0].Digest != r.Call.Digest {
		t.Errorf("votes are %+v", got.Votes)
	}
}

func TestDecisionsThatDecideNothing(t *testing.T) {
	long := strings.Repeat("x", 8<<10+1)
	tests := []struct {
		name   string
		body   string // DIGEST stands for the right one
		status int
		word   string
		detail string // a part of it
	}{
		{"approve without a digest", `{"decision":"approve"}`, 400, "digest-missing", "needs digest"},
		{"choose without a digest", `{"decision":"choose","choice":"a"}`, 400, "digest-missing", "needs digest"},
		{"approve of another call", `{"decision":"approve","digest":"` + strings.Repeat("0", 64) + `"}`, 409, "digest-mismatch", "digest"},
		{"steer without instructions", `{"decision":"steer"}`, 400, "steer-empty", "instructions"},
		{"steer with blanks for instructions", `{"decision":"steer","instructions":" \n"}`, 400, "steer-empty", "instructions"},
		{"steer about what lies elsewhere", `{"decision":"steer","instructions":"x","artifacts":["specs/../../etc/passwd"]}`, 400, "artifact", ".."},
		{"steer about what lies elsewhere, as Windows writes it", `{"decision":"steer","instructions":"x","artifacts":["specs\\..\\x"]}`, 400, "artifact", ".."},
		{"steer about an artifact without a name", `{"decision":"steer","instructions":"x","artifacts":[" "]}`, 400, "artifact", "empty"},
		{"steer where it is not allowed", `{"decision":"steer","instructions":"use git rm"}`, 409, "steer-not-allowed", "steered"},
		{"choose where nothing is to choose", `{"decision":"choose","choice":"a","digest":"DIGEST"}`, 422, "answer", ""},
		{"edit without a digest", `{"decision":"edit","arguments":{}}`, 400, "digest-missing", "needs digest"},
		{"edit where it is not allowed", `{"decision":"edit","arguments":{"command":"ls"},"digest":"DIGEST"}`, 422, "answer", "cannot be edited"},
		{"edit without arguments", `{"decision":"edit","digest":"DIGEST"}`, 422, "answer", "one JSON object"},
		{"edit to a list", `{"decision":"edit","arguments":["ls"],"digest":"DIGEST"}`, 422, "answer", "one JSON object"},
		{"edit to a key twice", `{"decision":"edit","arguments":{"command":"ls","command":"rm"},"digest":"DIGEST"}`, 400, "malformed", "duplicate"},
		{"edit to a key in two cases", `{"decision":"edit","arguments":{"command":"ls","Command":"rm"},"digest":"DIGEST"}`, 422, "answer", "case alone"},
		{"approve with other arguments", `{"decision":"approve","arguments":{},"digest":"DIGEST"}`, 422, "answer", "arguments come with an edit"},
		{"approve and remember", `{"decision":"approve","remember":{"scope":"session"},"digest":"DIGEST"}`, 422, "remember", "cannot be remembered"},
		{"approve and roll back", `{"decision":"approve","rollback":true,"digest":"DIGEST"}`, 422, "answer", "rollback and stop come with a denial"},
		{"approve and stop", `{"decision":"approve","stop":true,"digest":"DIGEST"}`, 422, "answer", "rollback and stop come with a denial"},
		{"no decision", `{}`, 400, "malformed", "decision is missing"},
		{"a decision that only Holdgate makes", `{"decision":"timeout","digest":"DIGEST"}`, 400, "malformed", "unknown decision"},
		{"a name in the body", `{"decision":"deny","by":"eve"}`, 400, "malformed", "unknown member at /by"},
		{"a member twice", `{"decision":"deny","decision":"approve","digest":"DIGEST"}`, 400, "malformed", "duplicate"},
		{"a member in other case", `{"Decision":"deny"}`, 400, "malformed", "unknown member"},
		{"two values", `{"decision":"deny"}{"decision":"deny"}`, 400, "malformed", "after top-level value"},
		{"a number as decision", `{"decision":1}`, 400, "malformed", "wrong type of value at /decision"},
		{"a reason without end", `{"decision":"deny","reason":"` + long + `"}`, 422, "too-long", "8192"},
		{"a body without end", `{"decision":"deny","reason":"` + strings.Repeat("x", api.MaxBody) + `"}`, 413, "too-large", "327680"},
	}
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", strings.ReplaceAll(tt.body, "DIGEST", string(r.Call.Digest)))
			p := decode[api.Problem](t, body)
			if status != tt.status || p.Status != tt.status || p.Word() != tt.word || !strings.Contains(p.Detail, tt.detail) || p.Title == "" {
				t.Errorf("got %d %s, want %d %s with %q", status, body, tt.status, tt.word, tt.detail)
			}
			if tt.word == "digest-mismatch" && (p.Request == nil || p.Request.Call.Digest != r.Call.Digest) {
				t.Errorf("the problem holds no request to look at again: %s", body)
			}
			if _, body := d.ask("GET", "/v1/approvals/"+r.ID, ""); decode[approvals.Request](t, body).Status != holdgate.StatusPending {
				t.Fatalf("the request was decided: %s", body)
			}
		})
	}
}

func TestTheSecondDecisionIsToldOfTheFirst(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{Allow: []string{"steer"}})
	if status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", `{"decision":"steer","instructions":"use git clean"}`); status != 200 {
		t.Fatalf("steering: %d %s", status, body)
	}
	status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", fmt.Sprintf(`{"decision":"approve","digest":%q}`, r.Call.Digest))
	p := decode[api.Problem](t, body)
	if status != http.StatusConflict || p.Word() != api.ProblemDecided || !strings.Contains(p.Detail, "by ada") {
		t.Errorf("got %d %s, want 409 that says who decided", status, body)
	}
	if p.Request == nil || p.Request.Status != holdgate.StatusSteered || p.Request.Outcome.Instructions != "use git clean" {
		t.Errorf("the request in the problem is %+v", p.Request)
	}
}

func TestAChoiceIsAnsweredWithOneOfItsOptions(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{Kind: holdgate.RequestChoice, Options: []holdgate.Option{{ID: "now", Label: "Now", Effect: "approve"}, {ID: "never", Label: "Never", Effect: "deny"}}})
	status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", fmt.Sprintf(`{"decision":"choose","choice":"now","digest":%q}`, r.Call.Digest))
	got := decode[approvals.Request](t, body)
	if status != 200 || got.Status != holdgate.StatusApproved || got.Outcome.Choice != "now" {
		t.Errorf("choosing: %d %s", status, body)
	}
}

func TestListsAreFilteredAndNeverNull(t *testing.T) {
	d := newDoor(t)
	if _, body := d.ask("GET", "/v1/approvals?status=pending", ""); strings.TrimSpace(body) != "[]" {
		t.Errorf("an empty list is %q, want []", body)
	}
	if _, body := d.ask("GET", "/v1/audit?request_id=none", ""); strings.TrimSpace(body) != "[]" {
		t.Errorf("an empty list of entries is %q, want []", body)
	}
	r := d.hold(holdgate.HoldSpec{})
	for query, want := range map[string]int{"": 1, "?status=pending": 1, "?status=approved": 0, "?agent=builder&session=s1": 1, "?agent=other": 0} {
		_, body := d.ask("GET", "/v1/approvals"+query, "")
		if got := decode[[]json.RawMessage](t, body); len(got) != want {
			t.Errorf("%q selects %d, want %d", query, len(got), want)
		}
	}
	for _, path := range []string{"/v1/approvals?status=waiting", "/v1/approvals?stauts=pending", "/v1/approvals?status=pending&status=denied", "/v1/audit?limit=0", "/v1/audit?limit=5000", "/v1/audit?from=x", "/v1/audit/export?from=1"} {
		if status, body := d.ask("GET", path, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s, want 400", path, status, body)
		}
	}
	if status, body := d.ask("GET", "/v1/approvals/none", ""); status != http.StatusNotFound {
		t.Errorf("unknown id: %d %s", status, body)
	}
	_, body := d.ask("GET", "/v1/audit?request_id="+r.ID, "")
	if entries := decode[[]map[string]any](t, body); len(entries) == 0 || entries[0]["request_id"] != r.ID {
		t.Errorf("the audit log of the request is %s", body)
	}
}

func TestAnEditEndsTheRequestWithOtherArguments(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{Allow: []string{"edit"}})
	status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision",
		fmt.Sprintf(`{"decision":"edit","digest":%q,"arguments":{"command":"rm -rf build/tmp","n":1.0}}`, r.Call.Digest))
	got := decode[approvals.Request](t, body)
	if status != 200 || got.Status != holdgate.StatusApproved || got.Outcome.Decision != holdgate.AnswerEdit || string(got.Outcome.Arguments) != `{"command":"rm -rf build/tmp","n":1.0}` {
		t.Errorf("editing: %d %s", status, body)
	}
	if string(got.Call.Tool.Arguments) != `{"command":"rm -rf build"}` {
		t.Errorf("what was asked for is shown as %s", got.Call.Tool.Arguments)
	}
}

func TestADenialCarriesRollbackAndStop(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", `{"decision":"deny","rollback":true,"stop":true}`)
	if got := decode[approvals.Request](t, body); status != 200 || !got.Outcome.Rollback || !got.Outcome.Stop {
		t.Errorf("denying: %d %s", status, body)
	}
}

func TestWhatEachRoleMayDo(t *testing.T) {
	approve, deny := `{"decision":"approve","digest":"DIGEST"}`, `{"decision":"deny"}`
	tests := []struct {
		name, of, body string
		status         int
		detail         string
	}{
		{"bob approves", tokenOfBob, approve, 200, ""},
		{"bob stops an agent", tokenOfBob, `{"decision":"deny","stop":true}`, 403, "the role operate"},
		{"olga approves", tokenOfOlga, approve, 403, "the role approve"},
		{"olga edits", tokenOfOlga, `{"decision":"edit","digest":"DIGEST","arguments":{"command":"ls"}}`, 403, "the role approve"},
		{"olga denies", tokenOfOlga, deny, 200, ""},
		{"olga steers", tokenOfOlga, `{"decision":"steer","instructions":"leave it"}`, 200, ""},
		{"olga stops an agent", tokenOfOlga, `{"decision":"deny","stop":true}`, 200, ""},
	}
	d := newDoor(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := d.hold(holdgate.HoldSpec{Allow: []string{"steer", "edit"}})
			status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", strings.ReplaceAll(tt.body, "DIGEST", string(r.Call.Digest)), "Authorization", "Bearer "+tt.of)
			if status != tt.status || !strings.Contains(body, tt.detail) {
				t.Fatalf("got %d %s, want %d with %q", status, body, tt.status, tt.detail)
			}
			if status != 403 {
				return
			}
			if word(t, body) != api.ProblemNotEntitled {
				t.Errorf("the problem is %s", body)
			}
			if now, err := d.queue.Request(t.Context(), r.ID); err != nil || now.Status != holdgate.StatusPending {
				t.Errorf("the request is %s, %v", now.Status, err)
			}
		})
	}
}
