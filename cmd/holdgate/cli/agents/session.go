package agents

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func (e *env) showSession(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usage("sessions show takes the name of a session: holdgate sessions list")
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	id, err := command.SessionNamed(c, sc, c.Args().First())
	if err != nil {
		return err
	}
	s, err := sc.Session(c.Context, c.String("agent"), id)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, s)
	}
	width, _ := e.Screen(e.Stdout)
	return printSession(e.Stdout, s, time.Now(), width)
}

// printSession prints what is known of a session, a line for each thing. What
// nothing is known of has none. A width of 0 is any.
func printSession(w io.Writer, s approvals.Session, now time.Time, width int) error {
	var fields [][2]string
	line := func(name, value string) { fields = append(fields, [2]string{name, value}) }
	line("session", s.ID)
	line("agent", s.Agent)
	state := string(s.State)
	if s.Why != "" {
		state += ": " + s.Why
	}
	line("state", state)
	mode := modeText(s)
	if s.SetBy != "" {
		mode += ", set by " + s.SetBy
	}
	if s.ModeWith != "" {
		mode += ", of session " + s.ModeWith + ", which does not stand alone"
	}
	line("mode", mode)
	if s.Alone {
		line("alone", "what holds it back holds no other session of the agent")
	}
	if r := s.Confidence; r != nil {
		line("confidence", fmt.Sprintf("%.2f, reported %s ago", r.Score, command.Short(now.Sub(r.At))))
		for _, why := range r.Reasons {
			line("", why)
		}
	}
	for _, p := range s.Passed {
		by := p.By
		if p.Silent {
			by = "silence"
		}
		line("gate passed", p.Gate+", by "+by)
	}
	line("gates needed", strings.Join(s.Needed, ", "))
	line("taint", strings.Join(s.Taint, ", "))
	line("calls", callsText(s.Counts))
	line("tools", toolsText(s))
	if s.Pending > 0 {
		line("pending", fmt.Sprint(s.Pending))
	}
	if s.Messages > 0 {
		line("messages", fmt.Sprintf("%d that it has still to get", s.Messages))
	}
	if !s.LastSeen.IsZero() {
		line("seen", command.Short(now.Sub(s.LastSeen))+" ago")
	}
	_, err := io.WriteString(w, command.Fields(width, fields))
	return err
}

func callsText(c sessions.Counts) string {
	text := fmt.Sprintf("%d allowed, %d refused, %d asked about", c.Allowed, c.Refused, c.Asked)
	if c.Asked > 0 {
		text += fmt.Sprintf(" (%d approved, %d denied, %d steered, %d expired)", c.Approved, c.Denied, c.Steered, c.Expired)
	}
	return text
}

// toolsText says how tools ended. Holdgate sees that in the results that come by.
func toolsText(s approvals.Session) string {
	if s.Counts.Succeeded+s.Counts.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d succeeded, %d failed; %s", s.Counts.Succeeded, s.Counts.Failed, s.Lately)
}
