package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/draft"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// editCommand lets a held call go on with other arguments.
func editCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "edit",
		UsageText: "holdgate edit f33xjt-my5d7g-tshyjw --set \"command=rm -rf build/tmp\"",
		Usage:     "let a held call go on with other arguments",
		ArgsUsage: "[ID]",
		Description: "Opens $VISUAL or $EDITOR on the call's arguments, shows what you changed, and\n" +
			"asks. --arguments and --set change them without an editor. Policy decides about\n" +
			"the edited call again. Without a terminal, give the ID and --digest.",
		Flags: []cli.Flag{
			messageFlag(), digestFlag(), yesFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "arguments", Usage: "take the whole arguments from a `FILE`, - for stdin"},
			&cli.StringSliceFlag{Name: "set", Usage: "set one argument: `PATH=TEXT`, or PATH:=JSON; PATH is that of an argument, a name, a.b.0, or a JSON pointer; repeatable"},
		},
		Action: func(c *cli.Context) error { return e.edit(c) },
	}
}

func (e *env) edit(c *cli.Context) error {
	if err := e.checkEdit(c); err != nil {
		return err
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	r, err := requestToDecide(c.Context, sc, c.Args().First())
	if err != nil {
		return err
	}
	if r.Call.Tool == nil || r.Call.Tool.Arguments == nil || r.Briefing.Counts.Redacted > 0 {
		return &command.Exit{Code: command.ExitFailed, Text: "request " + r.ID + " has no arguments that can be edited: they are no JSON object, or not all of them are shown",
			Hint: "nothing was decided; approve, deny or steer it"}
	}
	d := api.Decision{Decision: holdgate.AnswerEdit, Reason: c.String("reason")}
	ask, err := e.asks(c, c.Args().First(), r, d)
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
	if err := e.printWhole(shown, r, time.Now()); err != nil {
		return fmt.Errorf("showing the request: %w", err)
	}
	change, err := e.edited(c, shown, r)
	if err != nil {
		return err
	}
	d.Arguments = []byte(change.Arguments)
	if err := errors.Join(printDiff(shown, "your edit", r.Call.Tool.Arguments, d.Arguments), line(shown)); err != nil {
		return fmt.Errorf("showing the change: %w", err)
	}
	if _, terminal := e.Terminal(); terminal {
		if err := e.confirmEdit(c.Context, sc, shown, r, change, ask); err != nil {
			return err
		}
	}
	return e.send(c, sc, r.ID, d)
}

// confirmEdit shows what policy makes of the edit, and asks whether it is sent: as one asks about
// the edited call. Who has said yes before is asked all the same where its risk is critical, or
// not known for policy cannot be asked. What policy refuses is not sent.
func (e *env) confirmEdit(ctx context.Context, sc *client.Client, w io.Writer, r approvals.Request, change draft.Change, ask bool) error {
	change.Lines = nil
	change.Judge(ctx, sc, r)
	width, colour := e.Screen(w)
	if _, err := io.WriteString(w, page.Text(change.Lines[1:], width, colour)+"\n"); err != nil {
		return fmt.Errorf("showing what policy says: %w", err)
	}
	switch {
	case change.Refused:
		return &command.Exit{Code: command.ExitFailed, Text: "policy refuses the edited call; nothing was decided, and " + r.ID + " stays pending", Hint: "to edit it again: holdgate edit " + r.ID}
	case !ask && change.Asked && change.Risk != holdgate.RiskCritical:
		return nil
	}
	what := page.Line{Text: command.Known(string(change.Risk)) + " risk: " + cmp.Or(change.Summary, "the edited call")}
	return e.confirmBy(ctx, w, r, what, holdgate.AnswerEdit, typed(change.Word))
}

// checkEdit refuses command lines that could not be carried through.
func (e *env) checkEdit(c *cli.Context) error {
	_, terminal := e.Terminal()
	byEditor := !c.IsSet("arguments") && !c.IsSet("set")
	switch {
	case c.NArg() > 1:
		return command.Usage("edit takes one ID, got %q too", c.Args().Get(1))
	case c.IsSet("arguments") && c.IsSet("set"):
		return command.Usage("edit takes --arguments or --set, not both")
	case !terminal && (!c.Args().Present() || !c.IsSet("digest") || byEditor):
		return command.Usage("without a terminal to ask on, edit needs the ID, --digest, and --arguments or --set")
	}
	return checkYes(c)
}

// edited returns the new arguments, as the command line says.
func (e *env) edited(c *cli.Context, w io.Writer, r approvals.Request) (draft.Change, error) {
	args := jsontext.Value(r.Call.Tool.Arguments).Clone()
	switch {
	case c.IsSet("arguments"):
		raw, err := e.readArguments(c.String("arguments"))
		if err != nil {
			return draft.Change{}, err
		}
		return changed(r, raw)
	case c.IsSet("set"):
		for _, s := range c.StringSlice("set") {
			var err error
			if args, err = setArgument(args, s); err != nil {
				return draft.Change{}, err
			}
		}
		return changed(r, args)
	}
	return e.editInEditor(c.Context, w, r)
}

func (e *env) readArguments(path string) ([]byte, error) {
	in := e.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the arguments: %w", err)
		}
		defer f.Close()
		in = f
	}
	return command.ReadBounded(in)
}

// changed returns the arguments in raw, where they are other than the call's own.
func changed(r approvals.Request, raw []byte) (draft.Change, error) {
	c, err := draft.Of(r, raw)
	return c, unchanged(r, err)
}

// unchanged says what is to be done where nothing was changed.
func unchanged(r approvals.Request, err error) error {
	if errors.Is(err, draft.ErrSame) {
		return &command.Exit{Code: command.ExitFailed, Text: "nothing was changed; " + r.ID + " stays pending", Hint: "to let it go on as it is: holdgate approve " + r.ID}
	}
	return err
}

// editInEditor lets the person edit the arguments as a file, until they are a
// JSON object or the person gives up.
func (e *env) editInEditor(ctx context.Context, w io.Writer, r approvals.Request) (_ draft.Change, err error) {
	tty, ok := e.Terminal()
	if !ok {
		return draft.Change{}, command.ErrNoTerminal
	}
	file, err := draft.Open(r, nil)
	if err != nil {
		return draft.Change{}, err
	}
	defer func() { err = errors.Join(err, file.Remove()) }()
	for {
		cmd := file.Command(ctx, e.Editor())
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, e.Stdout, e.Stderr
		if err := cmd.Run(); err != nil {
			return draft.Change{}, &command.Exit{Code: command.ExitFailed, Text: fmt.Sprintf("the editor (%s) failed: %v", holdgate.Visible(e.Editor()), err), Hint: "nothing was decided; $VISUAL or $EDITOR names another"}
		}
		c, err := file.Read()
		if err = unchanged(r, err); !isUnusable(err) {
			return c, err
		}
		again, err := e.ConfirmWord(ctx, w, "\n"+holdgate.Visible(err.Error())+". Type yes to edit them again, anything else to leave it pending: ", "yes")
		if err != nil {
			return draft.Change{}, err
		}
		if !again {
			return draft.Change{}, &command.Exit{Code: command.ExitFailed, Text: "nothing was decided; " + r.ID + " stays pending"}
		}
	}
}

func isUnusable(err error) bool {
	_, ok := errors.AsType[*draft.UnusableError](err)
	return ok
}
