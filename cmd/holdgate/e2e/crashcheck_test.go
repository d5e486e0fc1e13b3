package e2e_test

import (
	"encoding/json"
	"maps"
	"strings"
)

// remembers checks that what was acknowledged before the crash is there after
// it: every request that was shown, and every answer that was taken.
func (c *crash) remembers() {
	c.mu.Lock()
	seen, votes := maps.Clone(c.seen), maps.Clone(c.votes)
	c.mu.Unlock()
	list, ok := c.list()
	if !ok {
		c.t.Error("the sidecar does not list its requests after the crash")
		return
	}
	now := map[string]request{}
	for _, r := range list {
		now[r.ID] = r
	}
	for id := range seen {
		r, ok := now[id]
		switch vote := votes[id]; {
		case !ok:
			c.t.Errorf("request %s was shown before the crash and is lost", id)
		case vote == "" && r.Status == "pending", r.Status == "cancelled":
		case r.Outcome == nil:
			c.t.Errorf("request %s was answered %q before the crash and is %s", id, vote, r.Status)
		case vote != "" && r.Outcome.Decision != vote:
			c.t.Errorf("request %s was answered %q before the crash and has the outcome %q", id, vote, r.Outcome.Decision)
		}
	}
}

// A ledger is what the audit log says of one request.
type ledger struct {
	used, results int
	approved      bool
	usedBefore    bool // used before it was approved
	digest        string
}

// verify checks the world once every agent has its answer.
func (c *crash) verify() {
	s := c.side.Load()
	if r := s.run("audit", "verify"); r.code != 0 {
		c.t.Errorf("audit verify: %v", r)
	}
	var books map[string]ledger
	until(c.t, "a result of everything that was used", func() bool {
		books = c.books(s)
		for _, b := range books {
			if b.used > 0 && b.results == 0 {
				return false
			}
		}
		return true
	})
	list, ok := c.list()
	if !ok {
		c.t.Error("the sidecar does not list its requests")
		return
	}
	byCall, deletions := map[string]request{}, map[string]int{}
	for _, r := range list {
		b := books[r.ID]
		switch {
		case b.used > 1:
			c.t.Errorf("request %s was used %d times", r.ID, b.used)
		case b.used > 0 && (!b.approved || b.usedBefore || r.Status != "approved"):
			c.t.Errorf("request %s was used without an approval: it is %s", r.ID, r.Status)
		case b.used > 0 && r.Outcome.Decision != "edit" && b.digest != r.Call.Digest:
			c.t.Errorf("request %s was used for %s, and people were shown %s", r.ID, b.digest, r.Call.Digest)
		case b.results > 1:
			c.t.Errorf("request %s has %d results", r.ID, b.results)
		}
		if r.Call.ID != "" && r.Call.Tool.Name == "Bash" {
			byCall[r.Call.ID] = r
		}
		var args struct{ Path string }
		if json.Unmarshal(r.Call.Tool.Arguments, &args) == nil && args.Path != "" {
			deletions[args.Path] += b.used
		}
	}
	c.checkCalls(books, byCall)
	c.checkDeletions(deletions)
}

// books reads the audit log as a script would.
func (c *crash) books(s *sidecar) map[string]ledger {
	books := map[string]ledger{}
	for _, e := range s.entries() {
		if e.RequestID == "" {
			continue
		}
		b := books[e.RequestID]
		switch e.Type {
		case "outcome":
			b.approved = e.Outcome != nil && (e.Outcome.Decision == "approve" || e.Outcome.Decision == "edit")
		case "used":
			b.used++
			b.usedBefore = b.usedBefore || !b.approved
			b.digest = e.Call.Digest
		case "result":
			b.results++
		}
		books[e.RequestID] = b
	}
	return books
}

// checkCalls checks what agents got: approved, as shown, and once.
func (c *crash) checkCalls(books map[string]ledger, byCall map[string]request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, connections := range c.delivered {
		r, asked := byCall[id]
		switch {
		case len(connections) > 1:
			c.t.Errorf("call %s arrived more than once: %s", id, strings.Join(connections, ", "))
		case !asked:
			c.t.Errorf("call %s arrived on %s and nobody was asked", id, connections)
		case books[r.ID].used != 1:
			c.t.Errorf("call %s arrived on %s; its request %s is %s and was used %d times", id, connections, r.ID, r.Status, books[r.ID].used)
		case c.arrivedOtherwise(id, r):
			c.t.Errorf("call %s arrived edited: %v; its request %s was ended by %q", id, c.edited[id], r.ID, r.Outcome.Decision)
		case !sameJSON(r.Call.Tool.Arguments, c.said[id].arguments()):
			c.t.Errorf("call %s arrived as %s and people were shown %s", id, c.said[id].arguments(), r.Call.Tool.Arguments)
		}
	}
}

// arrivedOtherwise reports whether a call arrived as the model wrote it where a
// person edited it, or the other way round.
func (c *crash) arrivedOtherwise(id string, r request) bool {
	edited, whole := c.edited[id]
	return whole && edited != (r.Outcome.Decision == "edit")
}

// checkDeletions checks what the MCP server did: at most once for each use.
func (c *crash) checkDeletions(uses map[string]int) {
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	for path, n := range c.files.deleted {
		if n > uses[path] {
			c.t.Errorf("%s was deleted %d times with %d approvals used", path, n, uses[path])
		}
	}
}

func sameJSON(a json.RawMessage, b string) bool {
	var x, y map[string]string
	return json.Unmarshal(a, &x) == nil && json.Unmarshal([]byte(b), &y) == nil && maps.Equal(x, y)
}

// account says what the rounds have covered, and fails where that is nothing:
// a test that never meets the moments it is about proves nothing.
func (c *crash) account(rounds int) {
	s := c.side.Load()
	results := map[string]int{}
	for _, e := range s.entries() {
		if e.Type == "result" {
			word, _, _ := strings.Cut(e.Note, ":")
			results[word]++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	votes := map[string]int{}
	for _, v := range c.votes {
		votes[v]++
	}
	edited := 0
	for _, e := range c.edited {
		if e {
			edited++
		}
	}
	c.t.Logf("%d rounds: %d calls said, %d requests shown, answers acknowledged %v, %d calls arrived, %d of them edited; results %v",
		rounds, len(c.said), len(c.seen), votes, len(c.delivered), edited, results)
	if len(c.delivered) < rounds || len(c.votes) < rounds {
		c.t.Error("too little happened for the rounds to prove anything")
	}
}
