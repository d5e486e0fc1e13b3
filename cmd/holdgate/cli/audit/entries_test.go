package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/store/audit"
)

// entry is one of a call of Bash, at noon.
func entry(seq uint64, t audit.Type) audit.Entry {
	return audit.Entry{
		Seq: seq, Time: time.Date(2026, 11, 27, 12, 0, 0, 0, time.Local), Type: t, RequestID: "m9zyhk-2fdsw7-8cbhkw",
		Call: &audit.Call{Agent: "claude", Session: "s1", Digest: "d1", Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: "Bash"}},
	}
}

func TestEntriesAreReadable(t *testing.T) {
	asked, vote, other := entry(9, audit.TypeDecision), entry(10, audit.TypeVote), entry(11, audit.TypeVote)
	asked.Decision = &audit.Decision{Action: holdgate.Hold, Rule: "files.delete", Risk: holdgate.RiskHigh, Reason: "The call deletes files."}
	asked.Input = json.RawMessage(`{"command":"rm -rf build && git push --force origin main && echo done"}`)
	vote.Outcome = &holdgate.Outcome{Decision: holdgate.AnswerApprove, By: "ada", Reason: "agreed with Bob \x1b[2J, who owns the branch and has a copy of it"}
	vote.Note, vote.Signed = "through cli", &audit.Signature{Key: "SHA256:k1"}
	asked.Call.Program, asked.Call.Folder, asked.Call.Said = "codex", "/srv/shop", "/srv/other"
	grant, undo := entry(13, audit.TypeGranted), entry(14, audit.TypeUndo)
	grant.Grant, grant.Call, undo.Call = "g1", &audit.Call{Agent: "claude", Session: "s1", Kind: holdgate.KindToolCall}, &audit.Call{Agent: "claude", Kind: holdgate.KindToolCall}
	undo.Outcome = &holdgate.Outcome{By: "ada"}
	other.RequestID, other.Outcome = "c5cwz8-tw8933-9975cv", &holdgate.Outcome{Decision: holdgate.AnswerDeny, By: "bob"}
	start := audit.Entry{Seq: 12, Time: vote.Time, Type: audit.TypeStart, Note: "holdgate v1.2.3"}
	args := map[question]json.RawMessage{questionOf(asked): asked.Input}
	want := `
9   2026-11-27 12:00:00  decision: hold by rule files.delete, high risk
    call    Bash: rm -rf build && git push --force origin main && echo done
    why     The call deletes files.
    agent   claude (its own word), says it is codex, session s1, request m9zyhk-2fdsw7-8cbhkw
    folder  /srv/shop
    folder  /srv/other, as the agent says: not checked
10  2026-11-27 12:00:00  vote: approve by ada
    call    Bash: rm -rf build && git push --force origin main && echo done
    why     agreed with Bob ⟨U+001B⟩[2J, who owns the branch and has a copy of it
    note    through cli
    signed  with the passkey SHA256:k1
    agent   claude (its own word), session s1, request m9zyhk-2fdsw7-8cbhkw
11  2026-11-27 12:00:00  vote: deny by bob
    call    Bash (arguments: holdgate audit query --type decision --request c5cwz8-tw8933-9975cv)
    agent   claude (its own word), session s1, request c5cwz8-tw8933-9975cv
12  2026-11-27 12:00:00  start: holdgate v1.2.3
13  2026-11-27 12:00:00  granted
    grant   g1
    agent   claude, session s1, request m9zyhk-2fdsw7-8cbhkw
14  2026-11-27 12:00:00  undo by ada
    agent   claude, request m9zyhk-2fdsw7-8cbhkw
`
	entries := []audit.Entry{asked, vote, other, start, grant, undo}
	for _, width := range []int{0, 80, 120} {
		var b strings.Builder
		if err := writeEntries(&b, entries, args, width, false); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(b.String()) {
			if width > 0 && page.Cells(strings.TrimSuffix(l, "\n")) > width {
				t.Errorf("a line is wider than %d: %s", width, l)
			}
		}
		if width != 80 {
			if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), b.String()); diff != "" {
				t.Errorf("at %d columns (-want +got):\n%s", width, diff)
			}
		}
	}
}

func TestALongCallIsCutInTheMiddleAndSaysSo(t *testing.T) {
	n := entry(1, audit.TypeDecision)
	n.Input = json.RawMessage(`{"command":"begin ` + strings.Repeat("x", 3000) + ` end"}`)
	line := called(n, nil)
	if !strings.HasPrefix(line, "Bash: begin xxx") || !strings.HasSuffix(line, "xxx end") || !strings.Contains(line, "⟨2410 characters left out; --json has them⟩") {
		t.Error(line)
	}
}
