package sessions

import (
	"testing"
	"time"
)

func TestWhatASessionHasEarnedIsOfWhoEarnedIt(t *testing.T) {
	r := New("claude", "s", time.Now())
	r.Revision, r.Proven = 3, true
	r.Passed, r.Answers, r.Counts = []Passed{{Gate: "before_commit"}}, []Answered{{Gate: "before_commit"}}, Counts{Approved: 2}
	r.Taint, r.Needed, r.Halt = []string{"untrusted"}, []string{"intent"}, &Halt{Reason: "no"}
	if same := r.For(true); same != r {
		t.Error("the agent's own record is another")
	}
	o := r.For(false)
	if len(o.Passed)+len(o.Answers) > 0 || o.Counts != (Counts{}) || o.Proven {
		t.Errorf("one that only says so has %+v", o)
	}
	if len(o.Taint) != 1 || len(o.Needed) != 1 || o.Halt == nil {
		t.Errorf("one that only says so is rid of what holds it back: %+v", o)
	}
	if len(r.Passed) != 1 || !r.Proven {
		t.Error("the record itself has changed")
	}
}
