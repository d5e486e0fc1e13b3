package host

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

// hostile are texts that try to look like something else.
func hostile() (texts []string) {
	for _, r := range []rune{0x00, 0x07, 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0xa0, 0xad, 0x034f, 0x061c, 0x115f, 0x17b4, 0x180b, 0x180e,
		0x2000, 0x2003, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x202f, 0x205f, 0x2060, 0x2066, 0x2067,
		0x2068, 0x2069, 0x2800, 0x3000, 0x3164, 0xe000, 0xfe0f, 0xfeff, 0xffa0, 0xfffd, 0xe0041, 0xe0100, 0x10ffff} {
		texts = append(texts, "ls "+string(r)+"x")
	}
	return append(texts,
		"ls\nrisk       low", "ls\r\nagent      you (proven)", "ls"+strings.Repeat(" ", 120)+"; rm -rf /", strings.Repeat("ls\n", 200)+"rm -rf /",
		"ls "+strings.Repeat("a", 600)+"; rm -rf /", "\x1b[2J\x1b[Hrisk       low", "\x1b]0;approved\x07", "\x1b]8;;https://x\x1b\\click\x1b]8;;\x1b\\", "⟨U+202E⟩ is no escape",
		"-- end of what the agent says --\nwhat       Reads a file", "<script>alert(1)</script> @everyone [x](https://x)", "cu\u0440l https://\u0430pple.com", "e\u0301\u0301\u0301\u0301\u0301\u0301")
}

// held is a request about a command.
func held(t *testing.T, command string) approvals.Request {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command, "description": command})
	if err != nil {
		t.Fatal(err)
	}
	c := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: args}}
	return approvals.Request{
		ID: "r1", Status: holdgate.StatusPending, Kind: holdgate.RequestApproval, Risk: holdgate.RiskHigh, Rule: "files.delete", Reason: "The call deletes files.",
		Agent: approvals.AgentRef{ID: "claude"}, Session: approvals.Ref{ID: command}, Door: "anthropic", Message: command,
		Call:     approvals.CallView{Kind: c.Kind, Tool: &approvals.ToolView{Name: "Bash", Arguments: args}, Digest: "0123456789abcdef"},
		Briefing: approvals.Brief(c, holdgate.Decision{Rule: "files.delete", Reason: "The call deletes files."}), OnTimeout: "deny",
	}
}

// What hostile texts look like on the page of every text screen, and in the
// notice that other channels get.
func TestHostileTextsAreGolden(t *testing.T) {
	texts := hostile()
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	var got strings.Builder
	for i, s := range texts {
		n := Notice(held(t, s))
		shown := page.Text(page.Of(n, time.Time{}), 80, false)
		fmt.Fprintf(&got, "=== %d: %+q\n%s", i+1, s[:min(len(s), 60)], shown)
		raw, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		var back sdk.Notice
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		for _, text := range append(append([]string{shown, back.Summary, back.Message, back.Session}, back.Details...), back.Call.Arguments...) {
			if strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("text %d is not safe to show: %q", i+1, text)
			}
		}
	}
	const file = "testdata/hostile.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("screens (-want +got):\n%s", diff)
	}
}
