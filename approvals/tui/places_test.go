package tui

import (
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
)

func TestAgentsAreHaltedAndRedirected(t *testing.T) {
	s := newSidecar(t)
	s.hold("Bash", `{"command":"rm -rf ./src"}`)
	d := sit(t, s)
	d.press("tab")
	d.golden("agents")
	state := func() agents.State {
		t.Helper()
		got, err := d.api.AgentStatus(t.Context(), "claude")
		s.check(err)
		return got.State
	}
	d.press("p")
	d.golden("agents-pause")
	d.press("esc")
	if got := state(); got != agents.Running {
		t.Errorf("Esc left it %s", got)
	}
	d.press("p")
	d.write("lunch")
	d.press("enter")
	d.shows("paused by ")
	if got := state(); got != agents.Paused {
		t.Errorf("p left it %s", got)
	}
	d.press("r", "enter")
	if got := state(); got != agents.Running {
		t.Errorf("r left it %s", got)
	}
	d.press("i", "enter")
	d.press("i")
	d.write("fix the tests first")
	d.press("enter")
	messages, err := d.api.Messages(t.Context(), "claude", "s1")
	s.check(err)
	if len(messages) != 1 || messages[0].Content != "fix the tests first" {
		t.Errorf("after i the agent has %+v", messages)
	}
	d.press("x", "enter")
	if got := state(); got == agents.Running {
		t.Errorf("x left it %s", got)
	}
	d.until("what it held is cancelled", func() bool { return len(d.m.inbox.list) == 0 })
}

func TestWhatAgentsDoIsLive(t *testing.T) {
	s := newSidecar(t)
	s.hold("Bash", `{"command":"rm -rf ./src"}`)
	d := sit(t, s)
	d.press("tab")
	d.shows("rm -rf ./src")
	s.hold("Bash", `{"command":"rm -rf ./lib"}`)
	d.update(beatMsg{})
	d.hides("rm -rf ./lib")
	d.pass(agentsEvery)
	d.update(beatMsg{})
	d.shows("rm -rf ./lib")
	d.shows("2 waiting")
	d.press("q")
	asked := d.m.agents.asked
	d.pass(time.Hour)
	d.update(beatMsg{})
	if !d.m.agents.asked.Equal(asked) {
		t.Error("agents are asked about where they are not shown")
	}
}

func TestHistory(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"rm -rf ./src"}`)
	s.hold("Edit", edit)
	other(s, r, approvals.Vote{Decision: "deny", Reason: "it is needed"})
	d := sit(t, s)
	d.press("tab", "tab")
	d.golden("history")
	d.press("/")
	d.write("cart.go")
	d.press("enter")
	d.golden("history-find")
	d.press("tab")
	d.shows("1 waiting")
}
