package host

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// post holds an HTTP request with a body, of which only its digest tells.
func (b *bench) post(path, body string) approvals.Request {
	b.t.Helper()
	c := holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: &holdgate.HTTP{Method: "POST", Scheme: "https", Host: "telemetry.example", Path: path}}
	d := holdgate.Decision{
		Action: holdgate.Hold, Rule: "http.write", Reason: "it may change something", Risk: holdgate.RiskMedium, Revision: "r1",
		Hold: holdgate.HoldSpec{Kind: holdgate.RequestApproval, Allow: []string{"steer"}},
	}
	caller := approvals.Caller{Agent: holdgate.Agent{ID: "cline", Proven: true}, Session: holdgate.Session{ID: "s1"}, Door: "forward"}
	x, err := b.queue.Enter(b.t.Context(), caller, func() (holdgate.Digest, error) { return holdgate.Digest("key-" + path + body), nil })
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := x.RequestApproval(b.t.Context(), approvals.HeldCall{Call: c, Decision: d})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func TestPeopleAreAskedOnceAboutARow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second, third := b.post("/capture", "1"), b.post("/capture", "2"), b.post("/capture", "3")
	b.run(b.puppet("puppet", script{Answers: []string{"approve"}}))
	n := b.next("notify").Notice
	if all := strings.Join(n.Details, "\n"); n.ID != first.ID || strings.Count(all, "with it ") != 2 || !strings.Contains(all, "counts for all 3") {
		t.Errorf("told of %s, and with it: %s", n.ID, all)
	}
	for _, r := range []approvals.Request{first, second, third} {
		got := b.ended(r.ID)
		if got.Status != holdgate.StatusApproved || got.Votes[0].Digest != r.Call.Digest {
			t.Errorf("%s is %s: %+v", r.ID, got.Status, got.Votes)
		}
	}
	if len(b.reports["notify"]) > 0 {
		t.Error("people were asked again")
	}
}

func TestWhatComesLaterJoinsNoVote(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("puppet", script{}))
	first := b.post("/capture", "1")
	if n := b.next("notify").Notice; n.ID != first.ID {
		t.Fatalf("told of %s first", n.ID)
	}
	second, other := b.post("/capture", "2"), b.post("/other", "1")
	if n := b.next("notify").Notice; n.ID != other.ID {
		t.Errorf("told of %s, want that of another path", n.ID)
	}
	if _, err := b.queue.Decide(t.Context(), first.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ada", Channel: "cli", Assurance: "local", Digest: first.Call.Digest}); err != nil {
		t.Fatal(err)
	}
	if n := b.next("notify").Notice; n.ID != second.ID {
		t.Errorf("told of %s, want that which came later", n.ID)
	}
	if got := b.request(second.ID); got.Status != holdgate.StatusPending {
		t.Errorf("it is %s", got.Status)
	}
}
