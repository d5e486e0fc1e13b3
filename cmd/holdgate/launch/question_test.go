package launch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// request is one that a question is about.
func request(risk holdgate.Risk) approvals.Request {
	return approvals.Request{
		ID: "abc", Kind: holdgate.RequestApproval, Status: holdgate.StatusPending, Risk: risk, Allow: []string{"steer"},
		Call: approvals.CallView{Digest: "d1", Tool: &approvals.ToolView{Name: "Bash"}}, Briefing: approvals.Briefing{Whole: true},
	}
}

// lines is a text as a page.
func lines(text string) (ls []page.Line) {
	for l := range strings.Lines(text) {
		ls = append(ls, page.Line{Text: strings.TrimSuffix(l, "\n")})
	}
	return ls
}

func TestLinesAreAnswers(t *testing.T) {
	fixed, choice, hidden := request(holdgate.RiskLow), request(holdgate.RiskLow), request(holdgate.RiskLow)
	fixed.Allow = nil
	choice.Kind, choice.Options = holdgate.RequestChoice, []holdgate.Option{{ID: "staging"}, {ID: "d"}}
	hidden.Briefing.Hidden = 1
	partial := request(holdgate.RiskLow)
	partial.Briefing.Whole = false
	approve := api.Decision{Decision: holdgate.AnswerApprove, Digest: "d1"}
	deny := func(why string) api.Decision {
		return api.Decision{Decision: holdgate.AnswerDeny, Digest: "d1", Reason: why}
	}
	steer := api.Decision{Decision: holdgate.AnswerSteer, Digest: "d1", Instructions: "use mv"}
	nothing := api.Decision{}
	standing, grave := request(holdgate.RiskLow), request(holdgate.RiskHigh)
	standing.Allow, grave.Allow = []string{"remember"}, []string{"remember"}
	always := approve
	always.Remember = &approvals.Remember{Scope: record.ScopeSession, For: 8 * time.Hour, Match: record.Match{Kind: record.MatchExact}}
	known, task := standing, approve
	known.OfTask = true
	task.Remember = &approvals.Remember{Scope: record.ScopeTask, For: 8 * time.Hour, Match: record.Match{Kind: record.MatchExact}}
	for _, c := range []struct {
		name  string
		r     approvals.Request
		lines string
		want  api.Decision
	}{
		{"a letter approves a low risk", request(holdgate.RiskLow), "a", approve},
		{"and a medium one", request(holdgate.RiskMedium), " approve ", approve},
		{"not a high one", request(holdgate.RiskHigh), "a", nothing},
		{"which wants the word", request(holdgate.RiskHigh), "approve", approve},
		{"and nothing else", request(holdgate.RiskHigh), "approve it", nothing},
		{"nor in other case", request(holdgate.RiskHigh), "APPROVE", nothing},
		{"an unknown risk is a high one", request(""), "a", nothing},
		{"so is one of another word", request("grave"), "a", nothing},
		{"so is a call with something hidden", hidden, "a", nothing},
		{"a call that cannot be shown whole is not approved here", partial, "approve", nothing},
		{"though denied", partial, "d no", deny("no")},
		{"a critical one wants itself named where nothing else is", request(holdgate.RiskCritical), "approve", nothing},
		{"and no other", request(holdgate.RiskCritical), "approve Bash", nothing},
		{"which approves", request(holdgate.RiskCritical), "approve abc", approve},
		{"after a mistake", request(holdgate.RiskHigh), "a|approve", approve},
		{"yes is no answer", request(holdgate.RiskLow), "yes", nothing},
		{"an empty line is none", request(holdgate.RiskLow), "||", nothing},
		{"deny with its reason", request(holdgate.RiskHigh), "deny too much", deny("too much")},
		{"deny with its reason asked for", request(holdgate.RiskHigh), "d|approve", deny("approve")},
		{"deny without one", request(holdgate.RiskHigh), "d|", deny("")},
		{"steer", request(holdgate.RiskHigh), "steer use mv", steer},
		{"steer when asked", request(holdgate.RiskHigh), "s|use mv", steer},
		{"steer and back", request(holdgate.RiskHigh), "s||d|", deny("")},
		{"steer where that is not allowed", fixed, "s use mv", nothing},
		{"a choice takes an option", choice, "c staging", api.Decision{Decision: holdgate.AnswerChoose, Digest: "d1", Choice: "staging"}},
		{"and no other", choice, "c production", nothing},
		{"and no approval", choice, "approve", nothing},
		{"an option's name does not hide an answer", choice, "d|", deny("")},
		{"Ctrl-C is none", request(holdgate.RiskLow), interrupted, nothing},
		{"an edit where policy allows none", request(holdgate.RiskLow), "e", nothing},
		{"always where policy allows it not", request(holdgate.RiskLow), "w|a", approve},
		{"always", standing, "w|a", always},
		{"always where no task is known", standing, "w|w|w|a", always},
		{"until the task ends", known, "w|w|w|a", task},
		{"always, and then not", standing, "w|u|a", approve},
		{"always of high risk wants the word", grave, "w|a|approve", always},
		{"no option where there are none", request(holdgate.RiskLow), "c staging", nothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &question{r: c.r, page: lines("short")}
			q.fit(40, 80)
			q.text()
			var got answer
			for line := range strings.SplitSeq(c.lines, "|") {
				if got.decision.Decision != "" {
					t.Fatalf("answered before %q", line)
				}
				got, _ = q.enter(line)
				q.text()
			}
			if diff := cmp.Diff(c.want, got.decision); diff != "" {
				t.Errorf("the answer differs (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("later decides nothing", func(t *testing.T) {
		q := &question{r: request(holdgate.RiskLow)}
		q.fit(40, 80)
		q.text()
		if a, over := q.enter("l"); !over || !a.later || a.decision.Decision != "" {
			t.Errorf("later is %+v, %v", a, over)
		}
	})
}

func TestWhatWasNotShownIsNotApproved(t *testing.T) {
	var page strings.Builder
	for n := range 45 {
		fmt.Fprintf(&page, "line %d\n", n)
	}
	q := &question{r: request(holdgate.RiskLow), page: lines(page.String())}
	q.fit(20, 80)
	shown := q.text()
	for range 2 {
		if _, over := q.enter("a"); over {
			t.Fatal("approved before all was shown")
		}
		q.enter("")
		shown += q.text()
	}
	for n := range 45 {
		if !strings.Contains(shown, fmt.Sprintf("line %d\n", n)) {
			t.Errorf("line %d was not shown", n)
		}
	}
	q.enter("b") // looking back forgets nothing
	q.text()
	q.fit(24, 80)
	if q.text(); q.whole() {
		t.Error("a page that is laid out anew counts as shown")
	}
	for range len(q.screens) {
		q.enter("")
		q.text()
	}
	if a, over := q.enter("a"); !over || a.decision.Decision != holdgate.AnswerApprove {
		t.Errorf("not approved after all was shown: %+v", a)
	}
}

// A part of a call that fills screens is folded, and must be opened before it is approved.
func TestALongPartIsFoldedAndOpenedBeforeItIsApproved(t *testing.T) {
	body := strings.Repeat(`{"k":"v"},`, 4800) // 48 kB on one line
	long := []page.Line{{Label: "what", Text: "Sends data"}, {Label: "  | ", Text: body}, {Label: "why", Text: "http.write"}}
	q := &question{r: request(holdgate.RiskLow), page: long}
	q.fit(40, 100)
	text := q.text()
	if n := strings.Count(text, "  | "); n != page.FoldTo || len(q.screens) != 1 || !strings.Contains(text, "more lines are not shown: m shows all of it") || !strings.Contains(text, "why") {
		t.Fatalf("%d lines on %d screens:\n%s", n, len(q.screens), text)
	}
	if strings.Contains(q.prompt(), "pprove") || strings.Contains(q.prompt(), "[e]dit") {
		t.Errorf("what is folded is offered for approval: %s", q.prompt())
	}
	if _, over := q.enter("a"); over || !strings.Contains(q.note, "m shows all") {
		t.Errorf("approved before it was opened; it says %q", q.note)
	}
	if a, over := q.enter("m"); !over || !a.relay {
		t.Fatalf("m does %+v", a)
	}
	q.fit(40, 100)
	if q.text(); q.whole() {
		t.Error("what was opened counts as shown before it was")
	}
	shown := 0
	for range len(q.screens) {
		shown += strings.Count(q.text(), `{"k":`)
		q.enter("")
	}
	if q.text(); !q.whole() || shown < 4700 {
		t.Errorf("to the end %d parts were shown", shown)
	}
	if a, over := q.enter("a"); !over || a.decision.Decision != holdgate.AnswerApprove {
		t.Errorf("not approved after all was shown: %+v", a)
	}
}

func TestWhatIsFoldedFitsANarrowTerminal(t *testing.T) {
	long := []page.Line{{Label: "what", Text: "Sends data"}, {Label: "  | ", Text: strings.Repeat("x", 48_000)}, {Label: "why", Text: "http.write"}}
	for cols := minCols; cols < 60; cols++ {
		q := &question{r: request(holdgate.RiskLow), page: long}
		q.fit(60, cols)
		if !q.folded {
			t.Errorf("nothing is folded on %d columns", cols)
		}
		for l := range strings.SplitSeq(q.text(), "\n") {
			if page.Cells(l) > cols {
				t.Errorf("%d cells on %d columns: %q", page.Cells(l), cols, l)
			}
		}
	}
}

func TestAQuestionFitsItsTerminal(t *testing.T) {
	long := strings.Repeat("x", 500) + strings.Repeat("漢", 500)
	for _, size := range [][2]int{{40, 100}, {24, 80}, {8, minCols}} {
		q := &question{r: request(holdgate.RiskHigh), page: lines(long + "\n" + long), waiting: 3, note: "a note"}
		q.fit(size[0], size[1])
		for n := range q.screens {
			q.at = n
			body := page.Text(q.screens[n], 0, false)
			if got := strings.Count(q.text(), "\n") + 1; got > size[0] {
				t.Errorf("%d lines on %d rows", got, size[0])
			}
			for line := range strings.SplitSeq(body, "\n") {
				if cells(line) >= size[1] {
					t.Errorf("a line of %d cells on %d columns", cells(line), size[1])
				}
			}
		}
	}
}

func TestALongNoteLeavesTheQuestionOnTheScreen(t *testing.T) {
	for _, rows := range []int{12, 24} {
		q := &question{r: request(holdgate.RiskHigh), page: lines(strings.Repeat("line\n", 60))}
		q.fit(rows, 40)
		q.text()
		q.enter(interrupted)
		text := q.text()
		if n := strings.Count(text, "\n") + 1; n > rows {
			t.Errorf("%d rows, of a terminal that has %d:\n%s", n, rows, text)
		}
		if !strings.HasPrefix(text, "HOLDGATE ASKS\nline\n") || !strings.Contains(text, "Ctrl-C decides nothing") || !strings.HasSuffix(text, "then Enter: ") {
			t.Errorf("the screen is:\n%s", text)
		}
	}
}

// Whatever the terminal's size and the prompt's, what is approved was on it, line by line.
func TestEveryLineWasOnTheTerminalBeforeApproving(t *testing.T) {
	long := request(holdgate.RiskCritical)
	long.Call.Tool.Name = strings.Repeat("n", 160)
	all := request(holdgate.RiskLow)
	all.Allow = []string{"steer", "edit", "remember"}
	gate := request(holdgate.RiskCritical)
	gate.Call.Tool.Name = strings.Repeat("n", 60)
	const fits = 12 // rows, and twice as many columns: there every call can be approved
	for name, r := range map[string]approvals.Request{"low": all, "high": request(holdgate.RiskHigh), "a long name": long, "a name": gate} {
		for _, n := range []int{1, 7, 18, 40, 300} {
			p := []page.Line{{Label: "what       ", Text: "x"}}
			for i := range n {
				p = append(p, page.Line{Label: "  | ", Text: fmt.Sprintf("L%03d", i)})
			}
			for _, rows := range []int{1, 3, 4, 5, 6, 8, fits, 20, 24, 50} {
				for _, cols := range []int{10, minCols, 2 * fits, 30, 40, 45, 60, 80, 120} {
					readToTheEnd(t, fmt.Sprintf("%s, %d lines on %dx%d", name, n, rows, cols), &question{r: r, page: p, pages: true}, n, rows, cols, rows >= fits && cols >= 2*fits)
				}
			}
		}
	}
}

// readToTheEnd reads a question of n lines, with a note in between, until it can be approved.
func readToTheEnd(t *testing.T, name string, q *question, n, rows, cols int, can bool) {
	t.Helper()
	q.fit(rows, cols)
	q.note = strings.Repeat("a note ", 40) // as an answer that failed elsewhere makes it
	var all strings.Builder
	for range 3*n + 9 {
		shown := strings.Split(q.text(), "\n")
		shown = shown[max(len(shown)-rows, 0):] // the rest has scrolled away
		all.WriteString(strings.Join(shown, "\n") + "\n")
		if q.whole() {
			break
		}
		if q.folded {
			q.enter("m")
			q.fit(rows, cols)
			continue
		}
		q.enter("")
	}
	word := q.word()
	if word == "" {
		word = "a"
	}
	a, over := q.enter(word)
	if can && !over {
		t.Errorf("%s: it cannot be approved: %q", name, q.note)
	}
	if !over || a.decision.Decision != holdgate.AnswerApprove {
		if d, over := q.enter("d no"); !over || d.decision.Decision != holdgate.AnswerDeny {
			t.Errorf("%s: it cannot be denied", name)
		}
		return
	}
	for i := range n {
		if !strings.Contains(all.String(), fmt.Sprintf("L%03d", i)) {
			t.Errorf("%s: approved, and line %d was never shown", name, i)
			return
		}
	}
}

func TestATerminalThatIsTooSmallSaysSo(t *testing.T) {
	q := &question{r: request(holdgate.RiskLow), page: lines("a\nb\nc")}
	q.fit(2, 80)
	if text := q.text(); !strings.Contains(text, "too small") || strings.Contains(q.prompt(), "approve") {
		t.Errorf("it says\n%s", text)
	}
	if _, over := q.enter("a"); over || !strings.Contains(q.note, "holdgate show abc") {
		t.Errorf("approved, or it says %q", q.note)
	}
	if q.fit(24, 80); q.cramped {
		t.Error("it stays too small")
	}
}

func TestTheTimeLeftGoesOn(t *testing.T) {
	now := time.Now()
	r := request(holdgate.RiskLow)
	r.ExpiresAt = now.Add(time.Hour)
	for _, c := range []struct {
		name       string
		rows, cols int
		want       string
	}{
		{"a terminal", 24, 80, "59m50s"},
		{"one whose lines are too short for it", 24, 24, ""},
		{"one that does not show it", 6, 80, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := question{r: r, page: page.Of(host.Notice(r), now)}
			q.fit(c.rows, c.cols)
			for q.at < len(q.screens)-1 && c.rows < 10 {
				q.at++ // what is named last
			}
			if row, line := q.tick(now); row != 0 {
				t.Fatalf("row %d is replaced by %q, and nothing has changed", row, line)
			}
			row, line := q.tick(now.Add(10 * time.Second))
			if c.want == "" {
				if row != 0 {
					t.Fatalf("row %d is replaced by %q", row, line)
				}
				return
			}
			if !strings.Contains(line, c.want) {
				t.Fatalf("row %d is replaced by %q, want %s in it", row, line, c.want)
			}
			if drawn := strings.Split(q.text(), "\n")[row-1]; drawn != line {
				t.Errorf("row %d is %q, and was replaced by %q", row, drawn, line)
			}
		})
	}
}
