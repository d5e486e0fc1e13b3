package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
)

// reasonFlag is the note of a decision.
func reasonFlag(aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: "reason", Aliases: aliases, Usage: "why; kept with the outcome"}
}

// messageFlag is the note of a decision that lets a call go on.
func messageFlag() cli.Flag {
	return &cli.StringFlag{Name: "reason", Aliases: []string{"message", "m", "feedback"}, Usage: "a `MESSAGE` that goes along with the call, and is kept with the outcome"}
}

// chooseCommand answers a request that offers options.
func chooseCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "choose",
		UsageText: "holdgate choose f33xjt-my5d7g-tshyjw staging",
		Usage:     "answer a request that offers options",
		ArgsUsage: "[ID] OPTION",
		Description: "OPTION is an option's id. With --other it may be left out: the text is the\n" +
			"answer then. ID may be left out as with approve. An option that lets the call go\n" +
			"on is asked about on a terminal, and needs --digest without one, as with approve.",
		Flags: []cli.Flag{
			messageFlag(), digestFlag(), yesFlag(), jsonFlag(),
			&cli.StringFlag{Name: "other", Usage: "answer with a `TEXT` of your own, where an option allows it"},
		},
		Action: func(c *cli.Context) error {
			d := api.Decision{Decision: holdgate.AnswerChoose, Reason: c.String("reason"), Instructions: c.String("other")}
			words, id := c.Args().Slice(), ""
			switch {
			case len(words) == 2:
				id, d.Choice = words[0], words[1]
			case len(words) == 1 && c.IsSet("other"):
				id = words[0]
			case len(words) == 1:
				d.Choice = words[0]
			case len(words) > 2 || !c.IsSet("other"):
				return usage("choose takes an ID and an option")
			}
			if c.IsSet("other") && strings.TrimSpace(d.Instructions) == "" {
				return usage("--other needs a text")
			}
			return e.release(c, id, d)
		},
	}
}

// denyCommand refuses a held call.
func denyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "deny",
		UsageText: "holdgate deny f33xjt-my5d7g-tshyjw --reason \"the data is still needed\"",
		Aliases:   []string{"reject"},
		Usage:     "refuse a held call",
		ArgsUsage: "[ID]",
		Flags: []cli.Flag{
			reasonFlag("message", "m", "feedback"), jsonFlag(),
			rowFlag(),
			&cli.BoolFlag{Name: "rollback", Usage: "tell the agent to undo what it did for this task"},
			&cli.BoolFlag{Name: "stop", Usage: "end the agent; takes the role operate"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("deny takes one ID, got %q too", c.Args().Get(1))
			}
			if c.Bool("row") && c.NArg() == 0 {
				return usage("--row needs the ID of one request of the row")
			}
			return e.refuse(c, c.Args().First(), api.Decision{
				Decision: holdgate.AnswerDeny, Reason: c.String("reason"), Rollback: c.Bool("rollback"), Stop: c.Bool("stop"),
			})
		},
	}
}

// steerCommand gives the agent other directions in the call's place.
func steerCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "steer",
		UsageText: "holdgate steer f33xjt-my5d7g-tshyjw \"use git clean\"",
		Usage:     "refuse a held call and tell the agent what to do instead",
		ArgsUsage: "[ID] INSTRUCTIONS",
		Description: "One argument is taken as the instructions for the only pending request; on a\n" +
			"terminal you are asked whether it is for that. With more, the first is the ID.\n" +
			"With --guidance or --agent, and where nothing is pending, it decides nothing: it\n" +
			"goes into the agent's next model request. Without arguments it asks for the\n" +
			"instructions on a terminal.",
		Flags: []cli.Flag{
			reasonFlag(), jsonFlag(),
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

// release sends a decision that lets a call go on. The request is shown first,
// and the decision carries the digest of what was shown.
func (e *env) release(c *cli.Context, id string, d api.Decision) error {
	if err := checkYes(c); err != nil {
		return err
	}
	sc, err := e.sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	r, err := open(c.Context, sc, id)
	if err != nil {
		return err
	}
	if d.Decision == holdgate.AnswerChoose && d.Choice == "" {
		if d.Choice, err = otherOption(r); err != nil {
			return err
		}
	}
	ask, err := e.asks(c, id, r, d)
	if err != nil {
		return err
	}
	if err := checkDigests(c, r); err != nil {
		return err
	}
	d.Digest = r.Call.Digest
	shown := e.stdout
	if c.Bool("json") {
		shown = e.stderr
	}
	if err := errors.Join(e.printWhole(shown, r, time.Now()), line(shown)); err != nil {
		return fmt.Errorf("showing the request: %w", err)
	}
	if d.Decision == holdgate.AnswerApprove {
		if d.Remember, err = e.remember(c, shown, r); err != nil {
			return err
		}
	}
	if ask {
		if err := e.confirm(c.Context, shown, r, d); err != nil {
			return err
		}
	}
	return e.send(c, sc, r.ID, d)
}

// otherOption is the option whose answer is a text of one's own.
func otherOption(r approvals.Request) (string, error) {
	i := slices.IndexFunc(r.Options, func(o holdgate.Option) bool { return o.Other })
	if i < 0 {
		return "", &exitError{code: exitFailed, text: "request " + r.ID + " has no option for a text of your own", hint: "holdgate show " + r.ID}
	}
	return r.Options[i].ID, nil
}

// refuse sends a decision that lets nothing go on.
func (e *env) refuse(c *cli.Context, id string, d api.Decision) error {
	sc, err := e.sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	if id == "" {
		r, err := onlyPending(c.Context, sc)
		if err != nil {
			return err
		}
		if r.ID == d.Instructions {
			return usage("steer needs instructions: holdgate steer %s \"do this instead\"", r.ID)
		}
		id = r.ID
	}
	if c.Bool("row") {
		return e.refuseRow(c, sc, id, d)
	}
	return e.send(c, sc, id, d)
}

// refuseRow refuses all requests of a row.
func (e *env) refuseRow(c *cli.Context, sc *client.Client, id string, d api.Decision) error {
	r, err := open(c.Context, sc, id)
	if err != nil {
		return err
	}
	list, err := rowOf(c.Context, sc, r)
	if err != nil {
		return err
	}
	var decisions []api.GroupDecision
	for _, r := range list {
		d.Digest = r.Call.Digest
		decisions = append(decisions, api.GroupDecision{ID: r.ID, Decision: d})
	}
	results, err := sc.DecideGroup(c.Context, decisions)
	if err != nil {
		return err
	}
	return e.printResults(c, results)
}

// send decides and says what became of the request.
func (e *env) send(c *cli.Context, sc *client.Client, id string, d api.Decision) error {
	r, err := sc.Decide(c.Context, id, d)
	if err != nil {
		return didYouMean(c.Context, sc, id, err)
	}
	if c.Bool("json") {
		return printJSON(e.stdout, r)
	}
	return printResult(e.stdout, r)
}

// printResult says in one line where a request stands after a decision.
func printResult(w io.Writer, r approvals.Request) (err error) {
	switch {
	case r.Status == holdgate.StatusPending:
		_, err = fmt.Fprintf(w, "%s: your answer counts; %d of %d have approved\n", r.ID, approving(r), r.Approvers.Quorum)
	case r.Status == holdgate.StatusApproved && !r.Answered():
		_, err = fmt.Fprintf(w, "%s: edited; the others are asked about the call as it is now\n", r.ID)
	case r.Status == holdgate.StatusApproved && r.Outcome != nil && r.Outcome.Decision == holdgate.AnswerEdit:
		_, err = fmt.Fprintf(w, "%s: edited and approved; policy decides about the call as it is now, and may refuse it or ask again\n", r.ID)
	default:
		_, err = fmt.Fprintf(w, "%s: %s\n", r.ID, r.Status)
	}
	if err == nil && r.Outcome != nil && r.Outcome.Grant != "" {
		_, err = fmt.Fprintf(w, "remembered as grant %s; end it with: holdgate grants revoke %s\n", r.Outcome.Grant, r.Outcome.Grant)
	}
	return err
}
