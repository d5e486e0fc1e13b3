package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// What a standing approval would have covered is what it covers once it is made.
func TestAPreviewIsWhatAGrantWouldHaveCovered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	past := map[string]holdgate.Call{} // by the request
	b.edit = func(c *approvals.Config) {
		c.Past = func() func(context.Context, audit.Entry) (holdgate.Call, holdgate.Decision, error) {
			return func(_ context.Context, e audit.Entry) (holdgate.Call, holdgate.Decision, error) {
				c, known := past[e.RequestID]
				if !known {
					return c, holdgate.Decision{}, errors.New("the log has not all of it")
				}
				return c, seen(c, dir), nil
			}
		}
	}
	b.reopen()
	write := func(who approvals.Caller, path, content string) approvals.Request {
		c := from(who, call("write_file", args{"path": path, "content": content}))
		r := b.asks(c, seen(c, dir))
		past[r.ID] = c
		return r
	}
	other := caller
	other.Session.ID = "s2"
	same := write(caller, "src/a.go", "x")
	b.decide(same, approve(same, "ana"))
	b.decide(write(caller, "src/a.go", "y"), deny("ben"))
	write(caller, "src/b.go", "x")
	write(other, "src/a.go", "x")
	lost := write(caller, "src/a.go", "x")
	delete(past, lost.ID)
	unlike := from(caller, call("write_file", args{"path": "src/a.go", "content": "x"}))
	b.asks(unlike, seen(unlike, dir, func(d *holdgate.Decision) { d.Rule = "another" }))
	r := write(caller, "src/a.go", "x")

	for _, tt := range []struct {
		remember                             approvals.Remember
		questions, covered, refused, unknown int
	}{
		{approvals.Remember{}, 4, 1, 0, 1},
		{approvals.Remember{Scope: record.ScopeAgent}, 5, 2, 0, 1},
		{approvals.Remember{Match: record.Match{Kind: record.MatchPattern, Arguments: map[string]json.RawMessage{"/path": json.RawMessage(`"src/a.go"`)}}}, 4, 2, 1, 1},
		{approvals.Remember{Match: record.Match{Kind: record.MatchTool}}, 4, 3, 1, 1},
	} {
		t.Run(fmt.Sprintf("%s %s", tt.remember.Match.Kind, tt.remember.Scope), func(t *testing.T) {
			p, err := b.queue.Preview(t.Context(), r.ID, tt.remember)
			if err != nil {
				t.Fatal(err)
			}
			if p.Questions != tt.questions || p.Compared != p.Questions || p.Covered != tt.covered || p.Refused != tt.refused || p.Unknown != tt.unknown || len(p.Calls) != p.Covered {
				t.Errorf("got %+v, want %+v", p, tt)
			}
		})
	}
	if p, _ := b.queue.Preview(t.Context(), r.ID, approvals.Remember{}); len(p.Calls) != 1 || p.Calls[0].RequestID != same.ID || p.Calls[0].Became != "approve by ana" {
		t.Errorf("the calls are %+v", p.Calls)
	}
	if _, err := b.queue.Preview(t.Context(), r.ID, approvals.Remember{For: 10000 * 24 * 3600e9}); !errors.Is(err, record.ErrRemember) {
		t.Errorf("for 10,000 days: %v", err)
	}
	_, err := b.queue.Preview(t.Context(), same.ID, approvals.Remember{})
	if _, ended := errors.AsType[*approvals.EndedError](err); !ended {
		t.Errorf("of one that has ended: %v", err)
	}
}
