package tui

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// ours are the beginnings of lines that the screen makes. No text of an agent, of a
// client or of another person begins a line.
var ours = regexp.MustCompile(`^(HOLDGATE|-+$|[> ] (critical|high|medium|low|unknown) |           |what       |risk       |time left  |approved   |approve    |WARNING    |why        |asked      |agent      |where      |for        |task       |people     |edited     |similar    |NOT SHOWN  |request    |status     |session    |door       |gate       |server     |tool       |digest     |-- (the agent says|end of what)|  |$|a moment|not |nothing |your answer|This request|to approve, type|deny: why|steer: what|y approve|n deny|j k move|Enter sends|space on|f whole|q back|Not connected|denied: |approved: )`)

// hostile is a request in which one text stands wherever an agent, a client or
// another person has a word.
func hostile(s string, n int) approvals.Request {
	args, err := json.Marshal(map[string]string{"command": s})
	if err != nil {
		panic(err)
	}
	call := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: s, Server: s, Arguments: args}}
	return approvals.Request{
		ID: "r" + strings.Repeat("1", n), Status: holdgate.StatusPending, Kind: holdgate.RequestApproval, Risk: holdgate.RiskHigh,
		Rule: "rule", Reason: s, Message: s, Agent: approvals.AgentRef{ID: s}, Session: approvals.Ref{ID: s}, Door: s, Gate: s,
		Call:     approvals.CallView{Kind: holdgate.KindToolCall, Tool: &approvals.ToolView{Name: s, Server: s, Arguments: args}, Digest: "0123456789abcdef"},
		Briefing: briefing.Make(call, 0, holdgate.Decision{Reason: s}), Allow: []string{"steer"},
		Claim: &approvals.Claim{By: s}, NoApprover: s,
	}
}

// FuzzScreen throws texts at every screen: none may bring a control character, a line
// that is wider than the terminal, or one that begins as ours do.
func FuzzScreen(f *testing.F) {
	for _, s := range []string{"rm -rf x", "a\x1b[2J\nrisk       low", strings.Repeat(" ", 90) + "risk       low", "\u202e\u200b\r\n> low      Reads", "漢字漢字漢字", "\xff\x9b31m", "e\u0301\u0301\U0001F468\u200d\U0001F469", "\x1b]0;x\a\x1b]9;y\x1b\\", "\n-----\nHOLDGATE"} {
		f.Add(s, 80, 24)
		f.Add(s, 41, 12)
	}
	f.Fuzz(func(t *testing.T, s string, width, height int) {
		width, height = minWidth+max(width, 0)%160, minHeight+max(height, 0)%60
		now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
		m := newModel(context.Background(), nil, func() time.Time { return now }, false)
		m.Update(tea.WindowSizeMsg{Width: width, Height: height})
		m.Update(listMsg{list: []approvals.Request{hostile(s, 1), hostile(s+"x", 2)}})
		check := func() {
			t.Helper()
			lines := strings.Split(m.screen(), "\n")
			if len(lines) > height {
				t.Errorf("%d lines on %d rows", len(lines), height)
			}
			for _, l := range lines {
				if i := strings.IndexFunc(l, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); i >= 0 {
					t.Errorf("a character that a terminal obeys: %q", l)
				}
				if n := page.Cells(l); n > width {
					t.Errorf("%d cells on %d columns: %q", n, width, l)
				}
				if !ours.MatchString(l) {
					t.Errorf("a line that is not ours: %q", l)
				}
			}
			for _, r := range m.View().WindowTitle {
				if unicode.IsControl(r) {
					t.Errorf("a control character in the title %q", m.View().WindowTitle)
				}
			}
		}
		check()
		m.openRequest(m.inbox.list[0])
		for range 4 {
			check()
			now = now.Add(time.Second)
			m.Update(keyOf("space"))
		}
		m.ask.full = true
		m.layOut()
		check()
		m.decided(decidedMsg{id: "other", r: approvals.Request{Status: holdgate.StatusDenied, Briefing: m.ask.r.Briefing}})
		check()
		now = now.Add(time.Second)
		m.Update(keyOf("n"))
		m.Update(tea.PasteMsg{Content: s})
		check()
	})
}

func TestSequencesAreOursAlone(t *testing.T) {
	now := time.Now()
	m := newModel(context.Background(), nil, func() time.Time { return now }, true)
	m.Update(listMsg{list: []approvals.Request{hostile("a\x1b[2J\x9b31m", 1)}})
	m.openRequest(m.inbox.list[0])
	screen := m.screen()
	if !strings.Contains(screen, "\x1b[") {
		t.Error("there is no colour")
	}
	for _, sgr := range []string{sgrStrong, sgrAlarm, sgrWarn, sgrFaint, sgrReverse, sgrOff, "\x1b[32m", "\x1b[31m"} {
		screen = strings.ReplaceAll(screen, sgr, "")
	}
	if strings.ContainsFunc(screen, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
		t.Errorf("a sequence that is not ours: %q", screen)
	}
}
