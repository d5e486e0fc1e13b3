package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A row says that the visitor has approved its request already.
func TestARowThatWaitsForOthersAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada, bob := h.signIn("ada"), h.signIn("bob")
	r := h.hold(holdgate.RiskMedium, `{"command":"rm -rf build"}`, holdgate.HoldSpec{Approvers: holdgate.Approvers{Quorum: 2}})
	const says = "you approved it, others have to"
	if strings.Contains(ada.get("/"), says) {
		t.Error("it is said of one that nobody has approved")
	}
	ada.answer(r, "decision", "approve")
	if text := ada.get("/"); !strings.Contains(text, says) || strings.Index(text, "For others to approve") > strings.Index(text, says) {
		t.Errorf("ada sees\n%s", excerpt(text))
	}
	if strings.Contains(bob.get("/"), says) {
		t.Error("bob is told that he approved it")
	}
}

// The agents' page reads of the log what is new, and shows what each session did last.
func TestWhatASessionDidLastAsTheLogGrows(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	h.hold(holdgate.RiskLow, `{"command":"npm install a"}`, holdgate.HoldSpec{})
	does := func(n int, command string) {
		t.Helper()
		must(t, h.store.Update(t.Context(), func(tx store.Tx) (err error) {
			for range n {
				if _, err = h.log.Append(tx, audit.Entry{Type: audit.TypeDecision, Call: &audit.Call{Kind: holdgate.KindToolCall, Agent: "builder", Session: "s1", Tool: &audit.Tool{Name: "Bash"}},
					Input: []byte(fmt.Sprintf(`{"command":%q}`, command)), Decision: &audit.Decision{Action: holdgate.Allow}}); err != nil {
					break
				}
			}
			return err
		}))
	}
	for _, step := range []struct {
		entries int
		command string
	}{{1, "make first"}, {3, "make second"}, {1, "make third"}, {2500, "make much"}, {1, "make last"}} {
		does(step.entries, step.command)
		for range 2 {
			if text := b.get("/agents"); !strings.Contains(text, step.command) {
				t.Fatalf("after %d of %s it shows\n%s", step.entries, step.command, excerpt(text))
			}
		}
	}
	must(t, h.store.Update(t.Context(), func(tx store.Tx) (err error) {
		for range 1000 {
			if _, err = h.log.Append(tx, audit.Entry{Type: audit.TypeFinding, Note: "x"}); err != nil {
				break
			}
		}
		return err
	}))
	if text := b.get("/agents"); strings.Contains(text, "make last") || !strings.Contains(text, "look it up") {
		t.Error("it shows what lies further back than it looks")
	}
}

// Statistics have a line for each day, and no time to decide where nobody decided.
func TestStatisticsByDay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	r := h.hold(holdgate.RiskLow, `{"command":"npm install a"}`, holdgate.HoldSpec{})
	text := b.get("/statistics?days=2")
	if !strings.Contains(text, "<dd>nobody has answered</dd>") {
		t.Errorf("it says how long people took:\n%s", excerpt(text))
	}
	if got := strings.Count(text, "<tr><td>20"); got != 3 {
		t.Errorf("2 days have %d lines, want today, yesterday and the part before", got)
	}
	b.answer(r, "decision", "deny")
	if text := b.get("/statistics"); strings.Contains(text, "nobody has answered") || !strings.Contains(text, "in the middle") || !strings.Contains(text, r.CreatedAt.Local().Format(time.DateOnly)+`</td><td class="n" data-label="asked">1</td>`) {
		t.Errorf("it says\n%s", excerpt(text))
	}
}

// A try shows the facts beside the decision, and changes nothing.
func TestATryShowsTheFacts(t *testing.T) {
	t.Parallel()
	b := newHouse(t, governed).signIn("ada")
	status, text, _ := b.do(http.MethodPost, "/policy/try", map[string][]string{"input": {`{"kind":"tool_call"}`}})
	for _, says := range []string{"This call would wait for a person", "commands.publish", "The facts of the call", "argv", "--force"} {
		if status != http.StatusOK || !strings.Contains(text, says) {
			t.Errorf("%d, without %q", status, says)
		}
	}
}

// History begins with what happened; its filters are folded until one is set.
func TestHistoryFoldsItsFilters(t *testing.T) {
	t.Parallel()
	b := newHouse(t).signIn("ada")
	for path, open := range map[string]bool{"/history": false, "/history?agent=x": true, "/history?before=2": false} {
		if got := strings.Contains(b.get(path), `<details class="filters" open>`); got != open {
			t.Errorf("%s: open is %v", path, got)
		}
	}
}
