package decide

import (
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

// messageFlag is the note of a decision that lets a call go on.
func messageFlag() cli.Flag {
	return &cli.StringFlag{Name: "reason", Aliases: []string{"message", "m", "feedback"}, Usage: "a `MESSAGE` that goes along with the call, and is kept with the outcome"}
}

// release sends a decision that lets a call go on. The request is shown first,
// and the decision carries the digest of what was shown.
func (e *env) release(c *cli.Context, id string, d api.Decision) error {
	if err := checkYes(c); err != nil {
		return err
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	r, err := requestToDecide(c.Context, sc, id)
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
	shown := e.Stdout
	if c.Bool("json") {
		shown = e.Stderr
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

// send decides and says what became of the request.
func (e *env) send(c *cli.Context, sc *client.Client, id string, d api.Decision) error {
	r, err := sc.Decide(c.Context, id, d)
	if err != nil {
		return didYouMean(c.Context, sc, id, err)
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, r)
	}
	return printResult(e.Stdout, r)
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
