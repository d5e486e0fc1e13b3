package decide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// approveCommand lets held calls go on.
func approveCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "approve",
		UsageText: "holdgate approve f33xjt-my5d7g-tshyjw\nholdgate approve f33xjt-my5d7g-tshyjw --remember exact --for 8h",
		Usage:     "let a held call go on, or several",
		ArgsUsage: "[ID...]",
		Description: "Shows each request and asks on the terminal, once for several. Critical risk asks\n" +
			"for the name of its target too. An ID must be whole. It may be left out on a terminal where\n" +
			"exactly one request is pending. The approval is bound to what was shown.\n" +
			"Without a terminal, give the ID and, with --digest, the digest that holdgate show\n" +
			"prints: one for each ID. --yes does not stand for it.",
		Flags: append([]cli.Flag{
			messageFlag(), digestFlag(), yesFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "exchange", Usage: "all that is pending of the exchange with this `ID`; later calls never join"},
			rowFlag(),
		}, rememberFlags()...),
		Action: func(c *cli.Context) error {
			d := api.Decision{Decision: holdgate.AnswerApprove, Reason: c.String("reason")}
			switch {
			case c.IsSet("exchange") && c.Args().Present():
				return command.Usage("approve takes IDs or --exchange, not both")
			case c.Bool("row") && c.NArg() != 1:
				return command.Usage("--row needs the ID of one request of the row")
			case c.IsSet("exchange") || c.NArg() > 1 || c.Bool("row"):
				if c.IsSet("remember") && !c.Bool("row") {
					return command.Usage("--remember is of one call: give one ID with it")
				}
				return e.releaseGroup(c, d)
			}
			return e.release(c, c.Args().First(), d)
		},
	}
}

// releaseGroup approves several requests, each bound to what was shown of it.
func (e *env) releaseGroup(c *cli.Context, d api.Decision) error {
	if err := checkYes(c); err != nil {
		return err
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	list, err := e.group(c, sc)
	if err != nil {
		return err
	}
	shown := e.Stdout
	if c.Bool("json") {
		shown = e.Stderr
	}
	var decisions []api.GroupDecision
	for _, r := range list {
		if err := approvable(r); err != nil {
			return err
		}
		d.Digest = r.Call.Digest
		if d.Remember = nil; len(decisions) == 0 { // one of a row is for those to come as well
			if d.Remember, err = e.remember(c, shown, r); err != nil {
				return err
			}
		}
		decisions = append(decisions, api.GroupDecision{ID: r.ID, Decision: d})
	}
	_, terminal := e.Terminal()
	if !terminal && (c.IsSet("exchange") || c.Bool("row") || !c.IsSet("digest")) {
		return unseen("approve needs the IDs and the digests of what was seen", "approve", list...)
	}
	if err := checkDigests(c, list...); err != nil {
		return err
	}
	for _, r := range list {
		if err := errors.Join(e.printWhole(shown, r, time.Now()), line(shown)); err != nil {
			return fmt.Errorf("showing the requests: %w", err)
		}
	}
	if terminal && !c.Bool("yes") {
		if err := e.confirmGroup(c.Context, shown, list); err != nil {
			return err
		}
	}
	results, err := sc.DecideGroup(c.Context, decisions)
	if err != nil {
		return err
	}
	return e.printResults(c, results)
}

// line ends a page.
func line(w io.Writer) error {
	_, err := fmt.Fprintln(w)
	return err
}

// group returns the requests that the command line names.
func (e *env) group(c *cli.Context, sc *client.Client) ([]approvals.Request, error) {
	var list []approvals.Request
	if exchange := c.String("exchange"); exchange != "" {
		all, err := Pending(c.Context, sc, approvals.Filter{})
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if r.Exchange == exchange {
				list = append(list, r)
			}
		}
		if len(list) == 0 {
			return nil, &command.Exit{Code: command.ExitNothing, Text: "nothing is pending of exchange " + exchange, Hint: "holdgate pending lists what waits"}
		}
		return list, nil
	}
	list, err := named(c.Context, sc, c.Args().Slice())
	if err == nil && c.Bool("row") {
		return rowOf(c.Context, sc, list[0])
	}
	return list, err
}

// rowFlag has a command answer all requests of a row.
func rowFlag() cli.Flag {
	return &cli.BoolFlag{Name: "row", Usage: "all that holdgate pending shows in one row with the request; later ones never join"}
}

// maxRow is how many requests are decided in one go.
const maxRow = 100

// rowOf returns the pending requests that are of one row with a request.
func rowOf(ctx context.Context, sc *client.Client, r approvals.Request) ([]approvals.Request, error) {
	all, err := Pending(ctx, sc, approvals.Filter{Agent: r.Agent.ID, Session: r.Session.ID})
	if err != nil {
		return nil, err
	}
	same := r.SameRow(all)
	return same[:min(len(same), maxRow)], nil
}

// named returns the requests with these IDs. Its error names each of them that
// is unknown or has ended; the exit code is that of the first.
func named(ctx context.Context, sc *client.Client, ids []string) ([]approvals.Request, error) {
	var list []approvals.Request
	var wrong *command.Exit
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			return nil, command.Usage("%s is named twice", id)
		}
		seen[id] = true
		r, err := requestToDecide(ctx, sc, id)
		x, ok := errors.AsType[*command.Exit](err)
		switch {
		case err == nil:
			list = append(list, r)
			continue
		case !ok:
			return nil, err
		case wrong == nil:
			wrong = &command.Exit{Code: x.Code, Hint: "nothing was decided; leave these IDs out, or look what waits: holdgate pending"}
		default:
			wrong.Text += "\n"
		}
		wrong.Text += id + ": " + x.Text
	}
	if wrong != nil {
		return nil, wrong
	}
	return list, nil
}

// approvable says why a request is not approved among others, or nil.
func approvable(r approvals.Request) error {
	switch {
	case r.Kind == holdgate.RequestChoice:
		return &command.Exit{Code: command.ExitUsage, Text: "request " + r.ID + " is a choice", Hint: "nothing was decided; holdgate choose " + r.ID + " OPTION"}
	case r.Risk == holdgate.RiskCritical:
		return &command.Exit{Code: command.ExitUsage, Text: "request " + r.ID + " is of critical risk, and is approved by itself alone", Hint: "nothing was decided; holdgate approve " + r.ID}
	case !r.Briefing.Whole && r.Call.Tool == nil:
		return &command.Exit{Code: command.ExitUsage, Text: "request " + r.ID + " cannot be shown whole, and is approved by itself alone", Hint: "nothing was decided; holdgate approve " + r.ID}
	}
	return nil
}

// confirmGroup asks on the terminal whether to approve what was shown.
func (e *env) confirmGroup(ctx context.Context, w io.Writer, list []approvals.Request) error {
	calls := fmt.Sprintf("these %d calls", len(list))
	if len(list) == 1 {
		calls = "this call"
	}
	yes, err := e.ConfirmWord(ctx, w, e.question(w, fmt.Sprintf("approve %s? Type approve to do it, anything else to leave all pending:", calls)), "approve")
	if err == nil && !yes {
		err = &command.Exit{Code: command.ExitFailed, Text: "nothing was decided; all stay pending"}
	}
	return err
}

// printResults says what became of each request of a group. The exit code is
// that of the first that was not decided.
func (e *env) printResults(c *cli.Context, results []api.GroupResult) error {
	var first *command.Exit
	if c.Bool("json") {
		if err := command.PrintJSON(e.Stdout, results); err != nil {
			return err
		}
	}
	for _, r := range results {
		switch {
		case r.Problem != nil:
			x := command.ExplainProblem(r.Problem)
			x.Text = r.ID + ": " + x.Text
			code := e.Report(x)
			if first == nil {
				first = &command.Exit{Code: code}
			}
		case r.Request != nil && !c.Bool("json"):
			if err := printResult(e.Stdout, *r.Request); err != nil {
				return err
			}
		}
	}
	if first != nil {
		return first
	}
	return nil
}
