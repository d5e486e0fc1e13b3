package decide

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// denyCommand refuses a held call.
func denyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "deny",
		UsageText: "holdgate deny f33xjt-my5d7g-tshyjw --reason \"the data is still needed\"",
		Aliases:   []string{"reject"},
		Usage:     "refuse a held call",
		ArgsUsage: "[ID]",
		Flags: []cli.Flag{
			command.ReasonFlag("message", "m", "feedback"), command.JSONFlag(),
			rowFlag(),
			&cli.BoolFlag{Name: "rollback", Usage: "tell the agent to undo what it did for this task"},
			&cli.BoolFlag{Name: "stop", Usage: "end the agent; takes the role operate"},
		},
		Description: "The ID may be left out where exactly one request is pending: on a terminal it is shown\n" +
			"and you are asked, without one it is denied. An ID must be whole.",
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return command.Usage("deny takes one ID, got %q too", c.Args().Get(1))
			}
			if c.Bool("row") && c.NArg() == 0 {
				return command.Usage("--row needs the ID of one request of the row")
			}
			return e.refuse(c, c.Args().First(), api.Decision{
				Decision: holdgate.AnswerDeny, Reason: c.String("reason"), Rollback: c.Bool("rollback"), Stop: c.Bool("stop"),
			})
		},
	}
}

// refuse sends a decision that lets nothing go on.
func (e *env) refuse(c *cli.Context, id string, d api.Decision) error {
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	if id == "" {
		return e.refuseOnly(c, sc, d)
	}
	if c.Bool("row") {
		return e.refuseRow(c, sc, id, d)
	}
	return e.send(c, sc, id, d)
}

// refuseOnly sends a decision about the only request that waits, which nobody has named. On a
// terminal a person sees it first, and says that it is meant.
func (e *env) refuseOnly(c *cli.Context, sc *client.Client, d api.Decision) error {
	r, err := onlyPending(c.Context, sc)
	if err != nil {
		return err
	}
	d.Digest = r.Call.Digest
	ask, err := e.asks(c, "", r, d)
	if err != nil {
		return err
	}
	if !ask {
		return e.send(c, sc, r.ID, d)
	}
	shown := e.Stdout
	if c.Bool("json") {
		shown = e.Stderr
	}
	if err := errors.Join(e.printWhole(shown, r, time.Now()), line(shown)); err != nil {
		return fmt.Errorf("showing the request: %w", err)
	}
	if err := e.confirm(c.Context, shown, r, d); err != nil {
		return err
	}
	return e.send(c, sc, r.ID, d)
}

// refuseRow refuses all requests of a row.
func (e *env) refuseRow(c *cli.Context, sc *client.Client, id string, d api.Decision) error {
	r, err := requestToDecide(c.Context, sc, id)
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
