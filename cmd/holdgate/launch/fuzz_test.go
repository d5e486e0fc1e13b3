package launch

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// ours are the beginnings of lines that the question makes. No text of an agent, of a
// client or of another person begins a line.
var ours = regexp.MustCompile(`^($|  |HOLDGATE ASKS|what       |risk       |agent      |time left  |approved   |WARNING    |approve    |why        |asked      |where      |for        |task       |edited     |people     |similar    |NOT SHOWN  |request    |status     |session    |door       |gate       |server     |tool       |digest     |-- |approve |\[|"[^"]*" is no answer|nothing was decided|not |Enter shows |names --)`)

// FuzzQuestion throws texts at the question of `run`, wherever an agent, a client or
// another person has a word.
func FuzzQuestion(f *testing.F) {
	for _, s := range append(sdktest.Hostile(), "\n[a]pprove, then Enter: a", strings.Repeat(" ", 90)+"risk       low") {
		f.Add(s, len(s)%40, len(s)%90)
	}
	f.Fuzz(func(t *testing.T, s string, rows, cols int) {
		rows, cols = 8+max(rows, 0)%60, 40+max(cols, 0)%160
		args, err := json.Marshal(map[string]string{"command": s, "description": s})
		if err != nil {
			t.Fatal(err)
		}
		call := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: s, Server: s, Arguments: args}}
		r := approvals.Request{
			ID: "r1", Status: holdgate.StatusPending, Kind: holdgate.RequestApproval, Risk: holdgate.RiskHigh, Rule: "rule", Reason: s, Message: s,
			Agent: approvals.AgentRef{ID: s}, Session: approvals.Ref{ID: s}, Door: s, Gate: s, Owner: s, Allow: []string{"steer"}, NoApprover: s,
			Call:     approvals.CallView{Kind: holdgate.KindToolCall, Tool: &approvals.ToolView{Name: s, Server: s, Arguments: args}, Digest: "0123456789abcdef"},
			Briefing: briefing.Make(call, 0, holdgate.Decision{Reason: s}), Claim: &approvals.Claim{By: s},
		}
		r.Briefing.Sections = append(r.Briefing.Sections, briefing.Section{Title: "before it, in this session", Kind: briefing.KindBefore, Lines: []string{"allowed: " + holdgate.Visible(s)}})
		q := &question{r: r, page: page.Of(host.Notice(r), time.Time{})}
		q.fit(rows, cols)
		for range min(len(q.screens)+1, 5) {
			lines := strings.Split(q.text(), "\n")
			for i, l := range lines {
				if strings.ContainsFunc(l, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
					t.Errorf("a character that a terminal obeys: %q", l)
				}
				if n := page.Cells(l); n > cols {
					t.Errorf("%d cells on %d columns: %q", n, cols, l)
				}
				if i < len(lines)-3 && !ours.MatchString(l) {
					t.Errorf("a line that is not ours: %q", l)
				}
			}
			q.enter("")
		}
		q.enter(strings.ReplaceAll(s, "\n", " "))
		for l := range strings.SplitSeq(q.text(), "\n") {
			if strings.ContainsFunc(l, unicode.IsControl) {
				t.Errorf("a character that a terminal obeys in what was typed: %q", l)
			}
		}
	})
}
