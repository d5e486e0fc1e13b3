package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

func TestAGroupIsDecidedItemByItem(t *testing.T) {
	d := newDoor(t)
	first, second, late := d.hold(holdgate.HoldSpec{}), d.hold(holdgate.HoldSpec{}), d.hold(holdgate.HoldSpec{})
	other := holdgate.Digest(strings.Repeat("0", 64))
	items := fmt.Sprintf(`[
		{"id":%q,"digest":%q,"decision":"approve","reason":"fine"},
		{"id":"none","digest":%q,"decision":"approve"},
		{"id":%q,"digest":%q,"decision":"deny"}]`, first.ID, first.Call.Digest, other, second.ID, other)
	status, body := d.ask("POST", "/v1/decisions", items)
	if status != 200 {
		t.Fatalf("deciding a group: %d %s", status, body)
	}
	got := decode[[]api.GroupResult](t, body)
	if len(got) != 3 || got[0].ID != first.ID || got[1].ID != "none" || got[2].ID != second.ID {
		t.Fatalf("results are %s", body)
	}
	if r := got[0].Request; r == nil || r.Status != holdgate.StatusApproved || r.Outcome.By != "ada" || r.Outcome.Reason != "fine" || got[0].Problem != nil {
		t.Errorf("the first: %+v, %+v", r, got[0].Problem)
	}
	if p := got[1].Problem; p == nil || p.Word() != api.ProblemNotFound || p.Status != 404 {
		t.Errorf("one that is not there: %+v", p)
	}
	if p := got[2].Problem; p == nil || p.Word() != api.ProblemDigest || p.Request == nil || p.Request.ID != second.ID {
		t.Errorf("a denial of what was not shown: %+v", p)
	}
	for _, id := range []string{second.ID, late.ID} {
		if r, err := d.queue.Request(t.Context(), id); err != nil || r.Status != holdgate.StatusPending {
			t.Errorf("request %s is %s, %v: want pending", id, r.Status, err)
		}
	}
}

func TestWhatIsCriticalIsApprovedAlone(t *testing.T) {
	d := newDoor(t)
	one, two := d.holdOf(holdgate.RiskCritical, holdgate.HoldSpec{}), d.hold(holdgate.HoldSpec{})
	approve := func(r approvals.Request) string {
		return fmt.Sprintf(`{"id":%q,"digest":%q,"decision":"approve"}`, r.ID, r.Call.Digest)
	}
	_, body := d.ask("POST", "/v1/decisions", "["+approve(one)+","+approve(two)+"]")
	got := decode[[]api.GroupResult](t, body)
	if got[0].Problem == nil || got[0].Problem.Word() != api.ProblemAnswer || got[1].Request == nil {
		t.Errorf("among others: %s", body)
	}
	_, body = d.ask("POST", "/v1/decisions", "["+approve(one)+"]")
	if got = decode[[]api.GroupResult](t, body); got[0].Request == nil || got[0].Request.Status != holdgate.StatusApproved {
		t.Errorf("alone: %s", body)
	}
}

func TestGroupsThatAreNone(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	item := fmt.Sprintf(`{"id":%q,"digest":%q,"decision":"approve"}`, r.ID, r.Call.Digest)
	many := make([]json.RawMessage, 101)
	for i := range many {
		many[i] = json.RawMessage(fmt.Sprintf(`{"id":"r%d","decision":"deny"}`, i))
	}
	tooMany, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"an object": item, "an empty list": `[]`, "too many": string(tooMany), "one twice": "[" + item + "," + item + "]",
		"one without an id": `[{"decision":"deny"}]`, "a member that is not known": `[{"id":"x","by":"eve","decision":"deny"}]`,
	} {
		if status, text := d.ask("POST", "/v1/decisions", body); status != 400 {
			t.Errorf("%s: %d %s, want 400", name, status, text)
		}
	}
	status, text := d.ask("POST", "/v1/decisions", fmt.Sprintf(`[{"id":%q,"decision":"deny"}]`, r.ID))
	if got := decode[[]api.GroupResult](t, text); status != 200 || got[0].Problem == nil || got[0].Problem.Word() != "digest-missing" {
		t.Errorf("a denial without a digest: %d %s", status, text)
	}
	if now, err := d.queue.Request(t.Context(), r.ID); err != nil || now.Status != holdgate.StatusPending {
		t.Errorf("the request is %s, %v", now.Status, err)
	}
}

func TestAClaimKeepsOthersFromClaiming(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	path := "/v1/approvals/" + r.ID + "/claim"
	status, body := d.ask("POST", path, "")
	if got := decode[approvals.Request](t, body); status != 200 || got.Claim == nil || got.Claim.By != "ada" {
		t.Fatalf("claiming: %d %s", status, body)
	}
	for _, method := range []string{"POST", "DELETE"} {
		if status, body := d.ask(method, path, "", "Authorization", "Bearer "+tokenOfBob); status != 409 || word(t, body) != api.ProblemClaimed || !strings.Contains(body, "ada") {
			t.Errorf("%s by somebody else: %d %s, want 409 that names ada", method, status, body)
		}
	}
	status, body = d.ask("DELETE", path, "")
	if got := decode[approvals.Request](t, body); status != 200 || got.Claim != nil {
		t.Errorf("unclaiming: %d %s", status, body)
	}
	if status, body := d.ask("POST", path, `{"until":"tomorrow"}`); status != 400 {
		t.Errorf("a claim that says something: %d %s, want 400", status, body)
	}
	if status, body := d.ask("POST", "/v1/approvals/none/claim", `{}`); status != 404 {
		t.Errorf("claiming what is not there: %d %s, want 404", status, body)
	}
}

func TestADelegateVotesInTheOthersPlace(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{Approvers: holdgate.Approvers{Users: []string{"ada"}}})
	approve := fmt.Sprintf(`{"decision":"approve","digest":%q}`, r.Call.Digest)
	bob := []string{"Authorization", "Bearer " + tokenOfBob}
	if status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", approve, bob...); status != 403 {
		t.Fatalf("bob, for whom it is not: %d %s, want 403", status, body)
	}
	for body, want := range map[string]int{`{}`: 400, `{"to":"nobody"}`: 422, `{"to":"olga"}`: 422, `{"to":"bob","by":"eve"}`: 400} {
		if status, text := d.ask("POST", "/v1/approvals/"+r.ID+"/delegate", body); status != want {
			t.Errorf("delegating %s: %d %s, want %d", body, status, text, want)
		}
	}
	if status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/delegate", `{"to":"ada"}`, bob...); status != 403 {
		t.Errorf("delegating what is not one's own: %d %s, want 403", status, body)
	}
	status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/delegate", `{"to":"bob","note":"I am away"}`)
	if got := decode[approvals.Request](t, body); status != 200 || len(got.Delegations) != 1 || got.Delegations[0].To != "bob" {
		t.Fatalf("delegating: %d %s", status, body)
	}
	if status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", approve); status != 403 {
		t.Errorf("ada, who has left it to bob: %d %s, want 403", status, body)
	}
	status, body = d.ask("POST", "/v1/approvals/"+r.ID+"/decision", approve, bob...)
	if got := decode[approvals.Request](t, body); status != 200 || got.Status != holdgate.StatusApproved || got.Outcome.By != "bob" {
		t.Errorf("bob in ada's place: %d %s", status, body)
	}
}
