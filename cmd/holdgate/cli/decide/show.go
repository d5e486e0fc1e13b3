package decide

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// showCommand shows one request.
func showCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "show",
		UsageText: "holdgate show f33xjt",
		Usage:     "show one request: the call, who makes it, and what silence does",
		ArgsUsage: "[ID]",
		Description: "ID may be the beginning of an id, where no other request begins with it.\n" +
			"It may be left out where exactly one request is pending.",
		Flags: []cli.Flag{command.JSONFlag(), &cli.BoolFlag{Name: "full", Usage: "show all of the arguments, however long they are"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return command.Usage("show takes one ID, got %q too", c.Args().Get(1))
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			var r approvals.Request
			if id := c.Args().First(); id == "" {
				r, err = onlyPending(c.Context, sc)
			} else {
				r, err = byPrefix(c.Context, sc, id)
			}
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, r)
			}
			if err := e.printPage(e.Stdout, r, time.Now()); err != nil {
				return err
			}
			if c.Bool("full") {
				if err := e.printFull(e.Stdout, r); err != nil {
					return err
				}
			}
			if r.Status.Final() {
				return nil
			}
			return printAnswers(e.Stdout, r, r.Briefing.Whole || c.Bool("full") && r.Call.Tool != nil, command.Again(c))
		},
	}
}

// onlyPending returns the request that waits, if exactly one does.
func onlyPending(ctx context.Context, sc *client.Client) (approvals.Request, error) {
	list, err := Pending(ctx, sc, approvals.Filter{})
	switch {
	case err != nil:
		return approvals.Request{}, err
	case len(list) == 0:
		return approvals.Request{}, nothingPending(approvals.Filter{})
	case len(list) > 1:
		x := command.Usage("%d requests are pending: say which", len(list))
		x.Hint = "one of " + ids(list, ", ")
		return approvals.Request{}, x
	}
	return list[0], nil
}

// requestToDecide returns the request that is to be decided: the one with exactly this id,
// or the only one that waits where none is given. One that has ended is an
// error.
func requestToDecide(ctx context.Context, sc *client.Client, id string) (approvals.Request, error) {
	if id == "" {
		return onlyPending(ctx, sc)
	}
	r, err := sc.Request(ctx, id)
	if err != nil {
		return r, didYouMean(ctx, sc, id, err)
	}
	if r.Status.Final() {
		ended := &approvals.EndedError{Request: r}
		return r, command.ExplainProblem(&api.Problem{Type: api.ProblemPrefix + api.ProblemDecided, Detail: ended.Error(), Request: &r})
	}
	return r, nil
}

// didYouMean names an id that is none, and the only pending one that begins so.
// That is never taken in its place: a decision names the whole id.
func didYouMean(ctx context.Context, sc *client.Client, id string, err error) error {
	p, ok := errors.AsType[*api.Problem](err)
	if !ok || p.Word() != api.ProblemNotFound || id == "" {
		return err
	}
	list, listErr := Pending(ctx, sc, approvals.Filter{})
	list = slices.DeleteFunc(list, func(r approvals.Request) bool { return !strings.HasPrefix(r.ID, id) })
	if listErr != nil || len(list) != 1 {
		x := command.ExplainProblem(p)
		x.Text += ": " + id
		return x
	}
	return &command.Exit{
		Code: command.ExitNothing,
		Text: fmt.Sprintf("no such approval request: %s. Did you mean %s?", id, list[0].ID),
		Hint: "a decision names the whole ID; look at it first: holdgate show " + list[0].ID,
	}
}

// byPrefix finds a request by its id or by the beginning of it. It is for
// looking only: a decision names the whole id.
func byPrefix(ctx context.Context, sc *client.Client, id string) (approvals.Request, error) {
	r, err := sc.Request(ctx, id)
	p, ok := errors.AsType[*api.Problem](err)
	if !ok || p.Status != http.StatusNotFound {
		return r, err
	}
	found, listErr := beginningWith(ctx, sc, id)
	if listErr != nil {
		return approvals.Request{}, listErr
	}
	switch len(found) {
	case 0:
		x := command.ExplainProblem(p)
		x.Text += ": " + id
		return approvals.Request{}, x
	case 1:
		return found[0], nil
	}
	return approvals.Request{}, command.Usage("several requests begin with %q: write more of the id", id)
}

// beginningWith returns the requests whose id begins so: two or more where
// several do.
func beginningWith(ctx context.Context, sc *client.Client, prefix string) (found []approvals.Request, err error) {
	f := approvals.Filter{Limit: approvals.MaxPage}
	for {
		p, err := sc.Page(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, r := range p.Requests {
			if strings.HasPrefix(r.ID, prefix) {
				found = append(found, r)
			}
		}
		if f.Cursor = p.Next; f.Cursor == "" || len(found) > 1 {
			return found, nil
		}
	}
}
