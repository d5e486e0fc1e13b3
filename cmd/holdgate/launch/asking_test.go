package launch_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
)

// A person must see what is held within 2 s, which a busy machine may multiply
// by thirty.
const shownWithin = time.Minute

// colours are the sequences that give text its looks.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func TestThePersonDecidesInTheAgentsTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, types string
		says        string // what the agent sees
		outcome     holdgate.Answer
	}{
		{"approve", "approve", " <rm -rf data>", holdgate.AnswerApprove},
		{"deny with a reason at once", "deny still needed", "still needed", holdgate.AnswerDeny},
		{"steer", "s move it to archive", "move it to archive", holdgate.AnswerSteer},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tm := inTerminal(t, "ask", "rm -rf data")
			page := colours.ReplaceAllString(tm.sees(asks)+tm.sees("(typed in full)"), "")
			if took := time.Since(tm.provider.lastByte()); took > shownWithin {
				t.Errorf("the person was asked after %v, want within %v", took, shownWithin)
			}
			for _, want := range []string{"UNCONFINED", "risk       high", "agent      testagent (asserted", "rm -rf data", "files.delete", "then it is denied", "digest"} {
				if !strings.Contains(page, want) {
					t.Errorf("the page does not say %q: %q", want, page)
				}
			}
			r := tm.pending(1)[0]
			if got := r.Agent; got.ID != "testagent" || got.Proven || got.Confinement != "unconfined" {
				t.Errorf("the request is by %+v", got)
			}
			tm.answers(c.types)
			tm.sees("model:")
			tm.sees(c.says)
			r, err := tm.client().Request(t.Context(), r.ID)
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome.Decision != c.outcome || r.Votes[0].Channel != "cli" || r.Votes[0].Digest != r.Call.Digest {
				t.Errorf("outcome %+v by votes %+v", r.Outcome, r.Votes)
			}
			tm.types("bye\r")
			tm.sees("heard: bye")
			tm.ended(0)
		})
	}
}

func TestThePersonEditsInTheAgentsTerminal(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.answers("e")
	tm.sees("editing") // the editor has the terminal, and what is typed
	tm.types("go\r")
	page := tm.sees("typed in full")
	for _, want := range []string{"what you change", "rm -rf data", "rm -rf tmp", "policy     lets the edited call pass"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the edit does not say %q: %q", want, page)
		}
	}
	tm.answers("approve")
	tm.sees("model:")
	tm.sees("<rm -rf tmp>")
	tm.types("bye\r")
	tm.sees("heard: bye")
	tm.ended(0)
}

// What a person types into the editor stays theirs: an edit that cannot be used is opened
// again as they left it, and one that comes too late is shown.
func TestAnEditThatIsNotSentIsKept(t *testing.T) {
	t.Parallel()
	r := newRun(t, "ask", "rm -rf data")
	r.cmd.Env = append(r.cmd.Env, `EDITOR=sh -c 'grep -q mine "$1" && sed -i "s/mine.*/mine\"}/" "$1" || echo "{\"command\":\"mine" >"$1"' edit`)
	tm := attach(r)
	tm.answers("e")
	tm.sees("not edited: the arguments are not usable")
	tm.sees("e opens your text again")
	tm.sees("[e]dit")
	tm.answers("e")
	tm.sees(`+  "command": "mine"`)
	tm.sees("then       Runs mine, which the policy does not know")
	tm.sees("[a]pprove") // its risk is medium
	held := tm.pending(1)[0]
	if _, err := tm.client().Decide(t.Context(), held.ID, api.Decision{Decision: holdgate.AnswerDeny, Digest: held.Call.Digest}); err != nil {
		t.Fatal(err)
	}
	tm.sees("Your edit was not sent.")
	tm.sees(`+  "command": "mine"`)
	tm.sees("Enter goes on: ")
	<-time.After(settled)
	tm.types("\r")
	tm.sees("was not run")
	tm.types("bye\r")
	tm.ended(0)
}

func TestAReasonIsAskedFor(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.answers("d")
	tm.sees("why")
	tm.types("it is\x7f\x7fwas asked for\r")
	tm.sees("was asked for")
	tm.sees("denied by")
	tm.types("\r")
	tm.ended(0)
}

func TestWhatIsTypedBeforeTheQuestionDecidesNothing(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.types("approve\rapprove\r") // before anything is asked: the agent's
	tm.sees(asks)
	tm.types("approve\rapprove\r") // too soon
	tm.answers("deny no")
	tm.sees("denied by")
	tm.sees("heard: approve") // what was typed for the agent has reached it
	tm.ended(0)
}

func TestOneLetterDoesNotApproveAHighRisk(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.answers("a")
	tm.sees("nothing was decided")
	tm.pending(1)
	tm.answers("approve")
	tm.sees("model: <rm -rf data>")
	tm.types("\r")
	tm.ended(0)
}

func TestWhatTheAgentPrintsWaitsForTheQuestionToEnd(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "chatter", "rm -rf data")
	before := tm.sees("\x1b[?1049h")
	question := tm.sees(prompt)
	<-time.After(settled)
	tm.types("approve\r")
	question += tm.sees("\x1b[?1049l")
	if !strings.Contains(question, asks) || strings.Contains(question, "tick") {
		t.Errorf("the question was mixed with output: %q", question)
	}
	after := tm.sees("model: <rm -rf data>")
	n := 0
	for line := range strings.Lines(before + after) {
		if _, tick, ok := strings.Cut(line, "tick "); ok {
			if strings.TrimSpace(tick) != fmt.Sprint(n) {
				t.Fatalf("tick %d became %q", n, line)
			}
			n++
		}
	}
	if n == 0 {
		t.Error("the agent printed nothing")
	}
	tm.ended(0)
}

func TestAnAnswerGivenElsewhereClosesTheQuestion(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.sees(prompt)
	r := tm.pending(1)[0]
	if _, err := tm.client().Decide(t.Context(), r.ID, api.Decision{Decision: holdgate.AnswerApprove, Digest: r.Call.Digest}); err != nil {
		t.Fatal(err)
	}
	tm.sees("\x1b[?1049l")
	tm.sees("model: <rm -rf data>")
	tm.types("\r")
	tm.ended(0)
}

func TestSeveralRequestsAreAskedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf one", "rm -rf two")
	tm.pending(2)
	tm.answers("deny first")
	tm.answers("deny second")
	for _, reason := range []string{"first", "second"} {
		tm.mark = 0 // either may be printed before the other
		tm.sees(": " + reason + ". Do not")
	}
	tm.types("\r")
	tm.ended(0)
}

func TestLaterGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.answers("l")
	tm.sees("\x1b[?1049l")
	r := tm.pending(1)[0]
	if _, err := tm.client().Decide(t.Context(), r.ID, api.Decision{Decision: holdgate.AnswerDeny, Reason: "later"}); err != nil {
		t.Fatal(err)
	}
	if shown := tm.sees("denied by"); strings.Contains(shown, asks) {
		t.Errorf("it was asked again at once: %q", shown)
	}
	tm.types("\r")
	tm.ended(0)
}

func TestAQuestionIsDrawnAnewInATerminalOfAnotherSize(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.sees(prompt)
	tm.resize(14, 60)
	tm.sees("screen 1 of ")
	tm.answers("approve")
	tm.sees("not all of the call was shown yet")
	tm.pending(1)
	tm.answers("deny no")
	tm.sees("denied by")
	tm.types("\r")
	tm.ended(0)
}

func TestTheAgentsEndIsTheRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		act  func(*terminal)
		role string
		code int
	}{
		{"a signal to holdgate is passed on", func(tm *terminal) { _ = tm.cmd.Process.Signal(syscall.SIGTERM); tm.sees("got terminated") }, "signals", 7},
		{"Ctrl-C is the agent's", func(tm *terminal) { tm.types("\x03"); tm.sees("got interrupt") }, "signals", 7},
		{"killed", func(*terminal) {}, "kill", 128 + 9},
		{"a new size is passed on", func(tm *terminal) {
			tm.resize(30, 77)
			tm.sees("size 30x77")
			tm.types("\x03")
		}, "signals", 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tm := inTerminal(t, c.role)
			if c.role == "signals" {
				tm.sees("size 40x100")
			}
			c.act(tm)
			tm.ended(c.code)
		})
	}
}

func TestTheAgentsEndEndsTheQuestion(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.sees(prompt)
	_ = tm.cmd.Process.Signal(syscall.SIGTERM) // the agent's default: it ends
	tm.sees("\x1b[?1049l")
	tm.ended(128 + 15)
}

func TestAClosedTerminalEndsTheAgent(t *testing.T) {
	for _, tt := range []struct {
		name string
		role []string
		sees string
		code int
	}{
		{"by SIGHUP, which it can heed", []string{"ask", "rm -rf data"}, prompt, 128 + int(syscall.SIGHUP)},
		{"by SIGKILL where it does not", []string{"stubborn"}, "here", 128 + int(syscall.SIGKILL)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tm := inTerminal(t, tt.role...)
			tm.sees(tt.sees)
			if err := tm.pty.Close(); err != nil {
				t.Fatal(err)
			}
			if got := tm.code(); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
		})
	}
}

// Processes that an agent leaves behind hold its terminal open.
func TestWhatTheAgentLeavesBehindIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "leave")
	tm.sees("left ")
	pid, err := strconv.Atoi(strings.TrimSpace(tm.sees("\n")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	tm.ended(0)
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the process that was left has ended: %v", err)
	}
}

// An agent that reads nothing must not keep the person from answering.
func TestAnAgentThatReadsNothingIsAskedAboutAllTheSame(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "deaf", "rm -rf data")
	tm.sees("deaf")
	tm.types(strings.Repeat("x", 64<<10)) // more than a terminal's queue takes
	tm.answers("deny no")
	tm.sees("denied by")
	tm.ended(0)
}
