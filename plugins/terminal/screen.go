package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Escape sequences, where colour is wanted.
const (
	bold  = "\x1b[1m"
	alarm = "\x1b[1;31m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

// A screen writes to the terminal. What it is given is gathered until flush.
// It belongs to one goroutine.
type screen struct {
	out    io.Writer
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

// styled adds a text in a style.
func (s *screen) styled(style, text string) {
	if !s.colour {
		s.text("%s", text)
		return
	}
	s.b.WriteString(style)
	s.text("%s", text)
	s.b.WriteString(plain)
}

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

// question shows a request, what no agent has written first.
func (s *screen) question(n sdk.Notice, now time.Time) {
	s.line("")
	s.styled(bold, strings.Repeat("-", 72))
	s.line("")
	risk := n.Risk
	if risk == "" {
		risk = "unknown"
	}
	s.label("Risk")
	if risk == sdk.RiskHigh || risk == sdk.RiskCritical || risk == "unknown" {
		s.styled(alarm, strings.ToUpper(risk))
	} else {
		s.text("%s", risk)
	}
	s.line("")
	s.field("Agent", describeAgent(n))
	s.field("Call", describeCall(n))
	s.field("Time", describeTime(n, now))
	s.field("Digest", short(n.Digest)+"  (request "+n.ID+")")
	s.field("Rule", describeRule(n))
	if n.Message != "" && n.Message != n.Reason {
		s.field("Note", n.Message)
	}
	if n.Quorum > 1 {
		s.field("People", fmt.Sprintf("it takes %d, %d so far", n.Quorum, n.Votes))
	}
	if n.Hidden > 0 {
		s.field("Hidden", fmt.Sprintf("%d values or characters are not in what follows", n.Hidden))
	}
	if n.Closed != "" {
		s.field("Note", n.Closed)
	}
	s.line("")
	s.line("  %s", n.Summary)
	for _, d := range n.Details {
		s.line("    %s", d)
	}
	for i, o := range n.Options {
		s.line("  %d. %s%s", i+1, o.Label, map[bool]string{true: "  (denies)"}[o.Effect == sdk.Deny])
	}
	s.line("")
}

func (s *screen) label(name string) {
	s.styled(faint, fmt.Sprintf("%-8s", name))
}

func (s *screen) field(name, text string) {
	s.label(name)
	s.line("%s", text)
}

// prompt says what can be typed.
func (s *screen) prompt(n sdk.Notice, waiting int) {
	var can []string
	if n.May(sdk.Approve) {
		can = append(can, map[bool]string{true: "approve (the whole word)", false: "[a]pprove"}[n.Risk == sdk.RiskHigh])
	}
	if n.May(sdk.Choose) {
		can = append(can, map[bool]string{true: "choose NUMBER", false: "a number"}[n.Risk == sdk.RiskHigh])
	}
	if n.May(sdk.Deny) {
		can = append(can, "[d]eny")
	}
	if n.May(sdk.Steer) {
		can = append(can, "[s]teer")
	}
	if len(n.Call.Arguments) > 0 {
		can = append(can, "[v]iew")
	}
	if waiting > 0 {
		can = append(can, fmt.Sprintf("[n]ext of %d more", waiting))
	}
	s.styled(bold, strings.Join(can, "  ")+" > ")
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

func describeAgent(n sdk.Notice) string {
	how := "asserted, not proven"
	if n.Agent.Proven {
		how = "proven"
	}
	if n.Agent.Confinement != "" {
		how += ", " + n.Agent.Confinement
	}
	return fmt.Sprintf("%s (%s), session %s", n.Agent.ID, how, n.Session)
}

func describeCall(n sdk.Notice) string {
	what := n.Call.Target
	if what == "" {
		what = n.Call.Kind
	}
	if n.Call.Server != "" {
		what += " of " + n.Call.Server
	}
	return what + ", through " + n.Door
}

func describeTime(n sdk.Notice, now time.Time) string {
	silence := "silence denies"
	if n.OnTimeout == sdk.Approve {
		silence = "SILENCE APPROVES"
	}
	left := n.ExpiresAt.Sub(now)
	switch {
	case n.ExpiresAt.IsZero():
		return silence
	case left <= 0:
		return "none left; " + silence
	case left < time.Minute:
		return fmt.Sprintf("%d s left; %s", int(left.Seconds()), silence)
	}
	return fmt.Sprintf("%d min left; %s", int(left.Minutes()), silence)
}

func describeRule(n sdk.Notice) string {
	rule := n.Rule
	if n.Gate != "" {
		rule += " (gate " + n.Gate + ")"
	}
	if n.Reason != "" {
		rule += ": " + n.Reason
	}
	return rule
}

// short is the form of a digest that people compare by eye.
func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	return digest
}
