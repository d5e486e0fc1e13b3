package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

func TestARequestThatIsSentAgainGetsTheSameAnswer(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{Approvers: holdgate.Approvers{Quorum: 2}})
	path := "/v1/approvals/" + r.ID + "/decision"
	body := fmt.Sprintf(`{"decision":"approve","digest":%q}`, r.Call.Digest)
	status, first := d.ask("POST", path, body, api.IdempotencyHeader, `"k1"`)
	if status != 200 || len(decode[approvals.Request](t, first).Votes) != 1 {
		t.Fatalf("the first: %d %s", status, first)
	}
	for name, key := range map[string]string{"the same": `"k1"`, "without quotes": "k1"} {
		if status, again := d.ask("POST", path, body, api.IdempotencyHeader, key); status != 200 || again != first {
			t.Errorf("%s: %d %s, want %s", name, status, again, first)
		}
	}
	if status, answer := d.ask("POST", path, body, api.IdempotencyHeader, "k2"); status != 409 || word(t, answer) != api.ProblemVoted {
		t.Errorf("another key votes anew: %d %s, want 409 voted", status, answer)
	}
	if status, answer := d.ask("POST", path, body, api.IdempotencyHeader, "k2"); status != 409 || word(t, answer) != api.ProblemVoted {
		t.Errorf("a refusal that is asked for again: %d %s, want the same", status, answer)
	}
	if status, answer := d.ask("POST", path, `{"decision":"deny"}`, api.IdempotencyHeader, "k1"); status != 422 || word(t, answer) != "key-reused" {
		t.Errorf("another body under the key: %d %s, want 422 key-reused", status, answer)
	}
	if status, answer := d.ask("POST", path, body, api.IdempotencyHeader, "k1", "Authorization", "Bearer "+tokenOfBob); status != 200 || len(decode[approvals.Request](t, answer).Votes) != 2 {
		t.Errorf("another person's key of the same name: %d %s, want a vote of theirs", status, answer)
	}
	if status, again := d.ask("POST", path, body, api.IdempotencyHeader, "k1"); status != 200 || again != first {
		t.Errorf("after the request has ended: %d %s, want %s", status, again, first)
	}
}

func TestAnAnswerOutlivesTheServer(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	path := "/v1/approvals/" + r.ID + "/decision"
	_, first := d.ask("POST", path, `{"decision":"deny"}`, api.IdempotencyHeader, "k")
	d.serveAnew()
	if status, again := d.ask("POST", path, `{"decision":"deny"}`, api.IdempotencyHeader, "k"); status != 200 || again != first {
		t.Errorf("a new server answers %d %s, want %s", status, again, first)
	}
}

func TestTheSameRequestTwiceAtOnceIsDoneOnce(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{Approvers: holdgate.Approvers{Quorum: 2}})
	body := fmt.Sprintf(`{"decision":"approve","digest":%q}`, r.Call.Digest)
	var all sync.WaitGroup
	answers := make([]string, 16)
	for i := range answers {
		all.Go(func() {
			status, text := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", body, api.IdempotencyHeader, "k")
			switch {
			case status == 200:
				answers[i] = text
			case status != http.StatusConflict || word(t, text) != "in-progress":
				t.Errorf("got %d %s, want the answer or 409 in-progress", status, text)
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, a := range answers {
		if a != "" {
			seen[a] = true
		}
	}
	if len(seen) != 1 {
		t.Errorf("%d different answers, want one", len(seen))
	}
}

func TestKeysThatAreNoneAreRefused(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	for _, key := range []string{`"`, `""`, `"a`, `a"`, "a b", `a\b`, "schlüssel", strings.Repeat("k", 256)} {
		if status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", `{"decision":"deny"}`, api.IdempotencyHeader, key); status != 400 {
			t.Errorf("%q: %d %s, want 400", key, status, body)
		}
	}
	if now, err := d.queue.Request(t.Context(), r.ID); err != nil || now.Status != holdgate.StatusPending {
		t.Errorf("the request is %s, %v", now.Status, err)
	}
}
