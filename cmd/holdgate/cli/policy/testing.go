package policy

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego"
)

func testCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "test",
		UsageText: "holdgate policy test rules/ --coverage",
		Usage:     "run a policy's tests (*_test.rego) over what serve would load",
		ArgsUsage: "[PATH]",
		Flags: []cli.Flag{
			policyFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "run", Usage: "only tests whose name matches this `REGEXP`"},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "list the tests that pass too"},
			&cli.BoolFlag{Name: "coverage", Usage: "print which lines the tests reach instead of the results; with --json as opa test does"},
		},
		Action: func(c *cli.Context) error {
			o, err := e.policyOptions(c, c.Args().Slice()...)
			if err != nil {
				return err
			}
			r, err := rego.Test(c.Context, rego.TestOptions{Policy: o, Run: c.String("run"), Coverage: c.Bool("coverage")})
			if err != nil {
				return err
			}
			switch {
			case c.Bool("json"):
				err = command.PrintJSON(e.Stdout, r)
			case c.Bool("coverage") && r.Failed == 0:
				err = writeCoverage(e.Stdout, r.Coverage)
			default:
				err = r.Write(e.Stdout, c.Bool("verbose"))
			}
			switch {
			case err != nil:
				return err
			case len(r.Results) == 0:
				return &command.Exit{Code: command.ExitNothing, Text: "no tests were found", Hint: "tests are rules test_... in files *_test.rego beside the policy"}
			case r.Failed > 0:
				return &command.Exit{Code: command.ExitFailed, Text: fmt.Sprintf("%d of %d tests failed", r.Failed, len(r.Results))}
			}
			return nil
		},
	}
}
