package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A screen writes to the terminal. What it is given is gathered until flush.
// It belongs to one goroutine.
type screen struct {
	out    io.Writer
	width  func() int // in cells; 0 where it is not known
	colour bool
	b      strings.Builder
}

// text adds a formatted text. Its arguments are shown without anything that a
// terminal would obey.
func (s *screen) text(format string, args ...any) {
	for i, a := range args {
		if t, ok := a.(string); ok {
			args[i] = inert(t)
		}
	}
	fmt.Fprintf(&s.b, format, args...)
}

func (s *screen) line(format string, args ...any) { s.text(format+"\n", args...) }

// flush shows what was added.
func (s *screen) flush() error {
	_, err := io.WriteString(s.out, s.b.String())
	s.b.Reset()
	if err != nil {
		return fmt.Errorf("writing to the terminal: %w", err)
	}
	return nil
}

// inert replaces every control character. Holdgate has written them out
// already; nothing here rests on that.
func inert(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// question shows a request.
func (s *screen) question(n sdk.Notice, now time.Time) {
	s.line("")
	rule := 72
	if w := s.width(); w > 0 {
		rule = min(w, rule)
	}
	s.line("%s", strings.Repeat("-", rule))
	s.b.WriteString(page.Text(page.Of(n, now), s.width(), s.colour))
	s.line("")
}

// prompt says what can be typed.
func (s *screen) prompt(n sdk.Notice, waiting int) {
	var can []string
	word := page.Word(n)
	if n.May(sdk.Approve) {
		can = append(can, map[bool]string{true: word + " (in full)", false: "[a]pprove"}[word != ""])
	}
	if n.May(sdk.Choose) {
		can = append(can, map[bool]string{true: "choose NUMBER", false: "a number"}[word != ""])
	}
	if n.May(sdk.Deny) {
		can = append(can, "[d]eny")
	}
	if n.May(sdk.Steer) {
		can = append(can, "[s]teer")
	}
	if n.May(sdk.Claim) && n.Claim == nil {
		can = append(can, "[c]laim")
	}
	if n.May(sdk.Unclaim) && n.Claim != nil {
		can = append(can, "unclaim")
	}
	if len(n.Call.Arguments) > 0 {
		can = append(can, "[v]iew as JSON")
	}
	if waiting > 0 {
		can = append(can, fmt.Sprintf("[n]ext of %d more", waiting))
	}
	s.text("%s > ", strings.Join(can, "  "))
}

// arguments shows the call's arguments.
func (s *screen) arguments(n sdk.Notice) {
	if len(n.Call.Arguments) == 0 {
		s.line("There is nothing more to see.")
		return
	}
	for _, l := range n.Call.Arguments {
		s.line("    %s", l)
	}
	if n.Call.Cut > 0 {
		s.line("%d characters of it are not shown.", n.Call.Cut)
	}
}

// settled says that the question on the screen needs no answer any more.
func (s *screen) settled(n sdk.Notice) {
	s.line("")
	switch {
	case !n.Ended():
		s.line("The call has changed since it was shown.")
	case n.Outcome != nil && n.Outcome.By != "":
		s.line("Request %s is %s already, by %s.", n.ID, n.Status, n.Outcome.By)
	default:
		s.line("Request %s is %s already.", n.ID, n.Status)
	}
}
