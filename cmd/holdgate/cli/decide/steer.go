package decide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// steerCommand gives the agent other directions in the call's place.
func steerCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "steer",
		UsageText: "holdgate steer f33xjt-my5d7g-tshyjw \"use git clean\"",
		Usage:     "refuse a held call and tell the agent what to do instead",
		ArgsUsage: "[ID] INSTRUCTIONS",
		Description: "Without an ID, where one request is pending, you are asked on the terminal whether\n" +
			"the words are for that. Without a terminal, give the ID, or --guidance.\n" +
			"With --guidance or --agent, and where nothing is pending, it decides nothing: the\n" +
			"words go into the agent's next model request. Without arguments it asks for the\n" +
			"instructions on a terminal.",
		Flags: []cli.Flag{
			command.ReasonFlag(), command.JSONFlag(),
			&cli.StringSliceFlag{Name: "artifact", Usage: "a file or other thing that the instructions are about; repeatable"},
			&cli.BoolFlag{Name: "guidance", Usage: "leave it for the agent's next model request, whatever waits"},
			&cli.StringFlag{Name: "agent", Usage: "the same, for this `AGENT`; may be left out where there is one"},
		},
		Action: func(c *cli.Context) error {
			d := api.Decision{Decision: holdgate.AnswerSteer, Reason: c.String("reason"), Artifacts: c.StringSlice("artifact")}
			return e.steer(c, d)
		},
	}
}

// steer steers the request that is named, or the only one that waits and that the
// person means; else it leaves the instructions as guidance.
func (e *env) steer(c *cli.Context, d api.Decision) error {
	words, id := c.Args().Slice(), ""
	if len(words) > 1 {
		id, words = words[0], words[1:]
	}
	d.Instructions = strings.Join(words, " ")
	guidance := c.Bool("guidance") || c.String("agent") != ""
	if guidance && id != "" {
		return command.Usage("guidance is for no request: leave the ID out, and put the words into one argument")
	}
	if strings.TrimSpace(d.Instructions) != "" && id != "" {
		return e.refuse(c, id, d)
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	if strings.TrimSpace(d.Instructions) == "" {
		return e.steerByHand(c, sc, d, len(words))
	}
	if guidance {
		return e.guide(c, sc, d, "")
	}
	waits, err := Pending(c.Context, sc, approvals.Filter{})
	if err != nil {
		return err
	}
	if len(waits) == 0 {
		return e.guide(c, sc, d, "nothing is pending: ")
	}
	if len(waits) == 1 && waits[0].ID == d.Instructions {
		return command.Usage("steer needs instructions: holdgate steer %s \"do this instead\"", waits[0].ID)
	}
	tty, ok := e.Terminal()
	if !ok || len(waits) > 1 {
		return ambiguous(waits)
	}
	return e.steerOrGuide(c, sc, d, tty, waits[0])
}

// ambiguous is the error where words may be for what waits, or for the agent besides.
func ambiguous(waits []approvals.Request) error {
	text, id := waits[0].ID+" is pending, and these words may be for it or for the agent's next step", waits[0].ID
	if n := len(waits); n > 1 {
		text, id = fmt.Sprintf("%d requests are pending, and these words may be for one of them or for the agent's next step", n), "ID"
	}
	x := command.Usage("%s", text)
	x.Hint = "nothing was decided; to refuse the call: holdgate steer " + id + " \"...\"; to leave it pending: holdgate steer --guidance \"...\""
	return x
}

// steerOrGuide asks what words are for that name no request, where one waits.
func (e *env) steerOrGuide(c *cli.Context, sc *client.Client, d api.Decision, tty *os.File, r approvals.Request) error {
	fmt.Fprintf(e.Stderr, "%s waits: %s\nIs this for it? Type steer to refuse the call with these words, or guidance to leave them for the agent's next model request and the call waiting: ", r.ID, r.Briefing.Summary)
	word, err := command.ReadLine(c.Context, tty)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	switch strings.TrimSpace(word) {
	case "steer":
		return e.refuse(c, r.ID, d)
	case "guidance":
		return e.guide(c, sc, d, "")
	}
	return &command.Exit{Code: command.ExitNothing, Text: "nothing was decided, and nothing left for the agent"}
}

// steerByHand asks for instructions on a terminal, one after the other, and sends
// each where it belongs at the time, until somebody ends that.
func (e *env) steerByHand(c *cli.Context, sc *client.Client, d api.Decision, words int) error {
	missing := command.Usage("steer needs instructions: holdgate steer ID \"do this instead\"")
	tty, ok := e.Terminal()
	if words > 0 || !ok {
		return missing
	}
	for sent := 0; ; sent++ {
		waits, err := Pending(c.Context, sc, approvals.Filter{})
		if err != nil {
			return err
		}
		d.Instructions, err = e.instructions(c.Context, tty, waits)
		switch over := errors.Is(err, io.EOF) || c.Context.Err() != nil || err == nil && d.Instructions == ""; {
		case over && sent > 0:
			return nil
		case err != nil:
			return err
		case over:
			return missing
		case len(waits) > 0:
			err = e.refuse(c, waits[0].ID, d)
		default:
			err = e.guide(c, sc, d, "nothing is pending: ")
		}
		if err != nil {
			return err
		}
	}
}

// instructions asks for them once.
func (e *env) instructions(ctx context.Context, tty *os.File, waits []approvals.Request) (string, error) {
	switch len(waits) {
	case 0:
		fmt.Fprintln(e.Stderr, "Nothing is pending: what you write goes into the agent's next model request.")
	case 1:
		fmt.Fprintf(e.Stderr, "%s waits: %s\n", waits[0].ID, waits[0].Briefing.Summary)
	default:
		return "", &command.Exit{Code: command.ExitUsage, Text: fmt.Sprintf("%d requests are pending, and no ID was given", len(waits)), Hint: "holdgate pending lists them"}
	}
	fmt.Fprint(e.Stderr, "What is the agent to do (an empty line ends this)? ")
	line, err := command.ReadLine(ctx, tty)
	if err != nil {
		return "", fmt.Errorf("reading the instructions: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// guide leaves guidance for an agent, the only one where none is named. It says
// why first.
func (e *env) guide(c *cli.Context, sc *client.Client, d api.Decision, why string) error {
	agent := c.String("agent")
	if agent == "" {
		list, err := sc.Agents(c.Context)
		if err != nil {
			return err
		}
		switch {
		case len(list) == 0:
			return &command.Exit{Code: command.ExitNothing, Text: strings.Replace(why, ":", ", and", 1) + "no agent was seen yet", Hint: "start one with: holdgate run -- COMMAND"}
		case len(list) > 1:
			return &command.Exit{Code: command.ExitNothing, Text: fmt.Sprintf("%s%d agents were seen", strings.Replace(why, ":", ", and", 1), len(list)), Hint: "name one with --agent; holdgate agents lists them"}
		}
		agent = list[0].ID
	}
	text := d.Instructions
	if len(d.Artifacts) > 0 {
		text += " (about " + strings.Join(d.Artifacts, ", ") + ")"
	}
	m, err := sc.Tell(c.Context, agent, "", api.Note{Type: sessions.MessageGuidance, Content: text})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, m)
	}
	_, err = fmt.Fprintf(e.Stdout, "%smessage %d waits for the next model request of %s\n", why, m.Seq, holdgate.Visible(agent))
	return err
}
