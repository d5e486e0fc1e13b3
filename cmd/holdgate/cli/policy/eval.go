package policy

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/verdict"
)

func evalCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "eval",
		UsageText: "holdgate policy eval call.json",
		Usage:     "ask a policy about an input and print its decision",
		ArgsUsage: "[INPUT.json]",
		Description: "The input is read from the file, or from standard input. It is what policies see, or\n" +
			"just a call: {\"kind\": \"tool_call\", \"tool\": {\"name\": \"Bash\", \"arguments\": {...}}}; facts,\n" +
			"category, mode and time are worked out. Exits 0 for allow and hold, 3 for deny.",
		Flags: []cli.Flag{policyFlag(), command.JSONFlag(), failFlag(), &cli.StringFlag{Name: "input", Usage: "read the input from `FILE`; - is standard input"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return command.Usage("policy eval takes one input, got %q too", c.Args().Get(1))
			}
			if c.Args().Present() && c.IsSet("input") {
				return command.Usage("the input is named twice: %q and %q", c.String("input"), c.Args().First())
			}
			input, err := e.ReadInput(cmp.Or(c.String("input"), c.Args().First()))
			if err != nil {
				return err
			}
			o, err := e.policyOptions(c)
			if err != nil {
				return err
			}
			engine, err := rego.Open(c.Context, o)
			if err != nil {
				return err
			}
			defer engine.Close(c.Context)
			d, err := engine.Eval(c.Context, input)
			if err != nil {
				return err
			}
			return e.printDecision(c, d)
		},
	}
}

// failFlag has a script stop at what would not pass.
func failFlag() cli.Flag {
	return &cli.BoolFlag{Name: "fail", Usage: "exit 3 for hold too, so that only allow is 0"}
}

// printDecision prints a decision, and makes a denial an exit code.
func (e *env) printDecision(c *cli.Context, d holdgate.Decision) error {
	var err error
	if c.Bool("json") {
		err = command.PrintJSON(e.Stdout, verdict.Document(d))
	} else {
		_, err = fmt.Fprintf(e.Stdout, "%s  %s  %s\n", d.Action, command.Dash(d.Rule), holdgate.Visible(d.Reason))
	}
	return errors.Join(err, refused(c, d))
}

// refused is the exit code of a decision by which a call does not pass.
func refused(c *cli.Context, d holdgate.Decision) error {
	if d.Action == holdgate.Deny || d.Action == holdgate.Hold && c.Bool("fail") {
		return &command.Exit{Code: command.ExitDenied}
	}
	return nil
}
