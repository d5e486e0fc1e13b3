package launch

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
)

func TestAQuestionCutsShortWhatTheAgentBegan(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, false)
	write(t, s, "text\x1b[?2004h\x1b[?25l\x1b]0;a title that never ")
	s.hold()
	s.draw("QUESTION\n")
	write(t, s, "ends\x07more")
	out.WriteString("|")
	s.release()
	_, question, _ := strings.Cut(out.String(), "never ")
	if !strings.HasPrefix(question, cutShort+otherScreen) {
		t.Errorf("the question begins with %q", question)
	}
	asked, back, _ := strings.Cut(question, "|")
	if strings.Contains(asked, "more") || !strings.HasSuffix(asked, clear+"QUESTION\r\n") {
		t.Errorf("the question is %q", asked)
	}
	if want := oldKeyboard + ownScreen + "\x1b[?25l\x1b[?2004h" + "\x1b]0;a title that never ends\x07more"; back != want {
		t.Errorf("afterwards comes %q, want %q", back, want)
	}
}

func TestAnAgentOnTheOtherScreenStaysThere(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, false)
	write(t, s, "\x1b[?1049h")
	if !s.hold() {
		t.Error("the agent's screen is not known")
	}
	s.release()
	if strings.Contains(out.String(), ownScreen) {
		t.Errorf("it was left: %q", out.String())
	}
}

func TestATerminalWithoutSequencesGetsNone(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, true)
	s.hold()
	s.draw("QUESTION\n")
	s.release()
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("it got %q", out.String())
	}
}

// What is kept has a bound. Beyond it the agent waits, and loses nothing.
func TestAnAgentThatPrintsOnWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := newScreen(&out, false)
		s.hold()
		written := 0
		go func() {
			for range 3 {
				write(t, s, strings.Repeat("x", maxKept/2))
				written++
			}
		}()
		synctest.Wait()
		if written != 2 {
			t.Errorf("%d writes went through while the question was open, want 2", written)
		}
		s.release()
		synctest.Wait()
		if got := strings.Count(out.String(), "x"); written != 3 || got != 3*(maxKept/2) {
			t.Errorf("%d writes with %d characters arrived", written, got)
		}
	})
}

func write(t *testing.T, s *screen, text string) {
	t.Helper()
	if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
		t.Errorf("Write returned %d, %v", n, err)
	}
}
