package agents

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// sessionsCommand lists the runs of agents, and sets what is asked about in them.
func sessionsCommand(e *env) *cli.Command {
	agent := &cli.StringFlag{Name: "agent", Usage: "of this `AGENT`"}
	return &cli.Command{
		Name:  "sessions",
		Usage: "list the sessions of agents, or set what is asked about in one",
		Subcommands: []*cli.Command{
			{
				Name: "list", UsageText: "holdgate sessions list --agent claude", Usage: "list the sessions that are known", Flags: []cli.Flag{agent, command.JSONFlag()},
				Action: e.listSessions,
			},
			{
				Name: "show", UsageText: "holdgate sessions show release-42", Usage: "show all that is known of one session", ArgsUsage: "ID", Flags: []cli.Flag{agent, command.JSONFlag()},
				Action: e.showSession,
			},
			{
				Name: "set", UsageText: "holdgate sessions set release-42 --mode manual", Usage: "set a session's mode, or let it stand alone", ArgsUsage: "ID",
				Description: "Mode auto asks what rules ask, confidence_threshold besides about each call of a\n" +
					"tool below the threshold, and manual about every one. It takes the role operate.\n" +
					"With --agent the session may be one to come.\n\n" +
					"What holds one session back (its mode, a gate, a pause) holds all of its agent, which\n" +
					"names its sessions itself. --alone says that this one holds no other.\n\n" +
					"What waits for an answer already goes on waiting: answer it (holdgate pending).",
				Flags: []cli.Flag{
					agent, command.JSONFlag(),
					&cli.StringFlag{Name: "mode", Usage: "`MODE`: auto, manual or confidence_threshold"},
					&cli.Float64Flag{Name: "confidence-threshold", Usage: "from 0 to 1, or from 0 to 100; sets the mode too"},
					&cli.BoolFlag{Name: "alone", Usage: "what holds it back holds no other session of its agent; --alone=false undoes it"},
				},
				Action: e.setSession,
			},
		},
	}
}

func (e *env) listSessions(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("sessions list takes no arguments, got %q", c.Args().First())
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	list, err := sc.Sessions(c.Context, c.String("agent"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, list)
	}
	width, _ := e.Screen(e.Stdout)
	return printSessions(e.Stdout, list, time.Now(), width)
}

// printSessions prints a line for each session, and below it why it does not go
// on. A width of 0 is any.
func printSessions(w io.Writer, list []approvals.Session, now time.Time, width int) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no session is known yet")
		return err
	}
	header := []string{"SESSION", "AGENT", "STATE", "MODE", "CONFIDENCE", "PENDING", "GATES PASSED", "TAINT", "SEEN"}
	var rows [][]string
	var halted []page.Line
	for _, s := range list {
		var passed []string
		for _, p := range s.Passed {
			passed = append(passed, p.Gate)
		}
		sure, seen := "", ""
		if s.Confidence != nil {
			sure = fmt.Sprintf("%.2f", s.Confidence.Score)
		}
		if !s.LastSeen.IsZero() {
			seen = command.Ago(now, s.LastSeen)
		}
		rows = append(rows, []string{s.ID, s.Agent, string(s.State), modeText(s), sure, fmt.Sprint(s.Pending), strings.Join(passed, ", "), strings.Join(s.Taint, ", "), seen})
		if s.Why != "" {
			halted = append(halted, page.Line{Text: holdgate.Visible(s.ID) + " is " + holdgate.Visible(s.Why)})
		}
	}
	_, err := io.WriteString(w, command.Table(width, header, rows)+page.Text(halted, width, false))
	return err
}

// modeText is what is asked about in a session, and whether it stands alone.
func modeText(s approvals.Session) string {
	text := string(s.Mode)
	if s.Threshold > 0 {
		text += fmt.Sprintf(" %g", s.Threshold)
	}
	if s.Alone {
		text += ", alone"
	}
	return text
}

func (e *env) setSession(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usage("sessions set takes the name of a session: holdgate sessions list")
	}
	m, err := command.SessionMode(c)
	if err != nil {
		return err
	}
	change := api.SessionMode{Mode: m.Mode, Threshold: m.Threshold}
	if c.IsSet("alone") {
		alone := c.Bool("alone")
		change.Alone = &alone
	}
	if m.Mode == "" && change.Alone == nil {
		return command.Usage("sessions set needs --mode, --confidence-threshold or --alone")
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	s, err := sc.SetMode(c.Context, c.String("agent"), c.Args().First(), change)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, s)
	}
	if _, err := fmt.Fprintf(e.Stdout, "%s: mode %s\n", holdgate.Visible(s.ID), modeText(s)); err != nil {
		return err
	}
	return e.stillWaiting(c, sc, s.Agent)
}

// stillWaiting says what of an agent was asked before its session was changed: that
// waits on as it was asked.
func (e *env) stillWaiting(c *cli.Context, sc *client.Client, agent string) error {
	all, err := sc.Sessions(c.Context, agent)
	if err != nil {
		return err
	}
	var waits []string
	for _, s := range all {
		if s.Pending > 0 {
			waits = append(waits, fmt.Sprintf("%s (%d)", holdgate.Visible(s.ID), s.Pending))
		}
	}
	if len(waits) > 0 {
		_, err = fmt.Fprintf(e.Stdout, "asked before, and still waits for an answer (holdgate pending): %s\n", strings.Join(waits, ", "))
	}
	return err
}
