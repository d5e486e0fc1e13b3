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
		{"steer without instructions", `{"decision":"steer"}`, 422, "steer-empty", "instructions"},
		{"steer with blanks for instructions", `{"decision":"steer","instructions":" \n"}`, 422, "steer-empty", "instructions"},
		{"steer where it is not allowed", `{"decision":"steer","instructions":"use git rm"}`, 409, "steer-not-allowed", "steered"},
		{"choose where nothing is to choose", `{"decision":"choose","choice":"a","digest":"DIGEST"}`, 422, "answer", ""},
		{"edit", `{"decision":"edit","arguments":{},"digest":"DIGEST"}`, 422, "unsupported", "editing"},
		{"approve with other arguments", `{"decision":"approve","arguments":{},"digest":"DIGEST"}`, 422, "unsupported", "editing"},
		{"approve and remember", `{"decision":"approve","remember":{"scope":"session"},"digest":"DIGEST"}`, 422, "unsupported", "remember"},
		{"approve and roll back", `{"decision":"approve","rollback":true,"digest":"DIGEST"}`, 422, "unsupported", "rollback"},
		{"no decision", `{}`, 400, "malformed", "decision is missing"},
		{"a decision that only Holdgate makes", `{"decision":"timeout","digest":"DIGEST"}`, 400, "malformed", "unknown decision"},
		{"a name in the body", `{"decision":"deny","by":"eve"}`, 400, "malformed", "unknown member at /by"},
		{"a member twice", `{"decision":"deny","decision":"approve","digest":"DIGEST"}`, 400, "malformed", "duplicate"},
		{"a member in other case", `{"Decision":"deny"}`, 400, "malformed", "unknown member"},
		{"two values", `{"decision":"deny"}{"decision":"deny"}`, 400, "malformed", "after top-level value"},
		{"a number as decision", `{"decision":1}`, 400, "malformed", "wrong type of value at /decision"},
		{"a reason without end", `{"decision":"deny","reason":"` + long + `"}`, 422, "too-long", "8192"},
		{"a body without end", `{"decision":"deny","reason":"` + strings.Repeat("x", api.MaxBody) + `"}`, 413, "too-large", "65536"},
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
