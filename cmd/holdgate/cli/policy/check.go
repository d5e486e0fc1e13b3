package policy

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego"
)

func checkCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "check",
		UsageText: "holdgate policy check rules/",
		Usage:     "load a policy as serve does, and say what it is or why it does not load",
		ArgsUsage: "[PATH]",
		Flags:     []cli.Flag{policyFlag(), command.JSONFlag()},
		Action: func(c *cli.Context) error {
			o, err := e.policyOptions(c, c.Args().Slice()...)
			if err != nil {
				return err
			}
			l, err := rego.Check(c.Context, o)
			if err != nil {
				return err
			}
			settings, err := e.Settings(c)
			if err != nil {
				return err
			}
			people, err := app.People(settings)
			if err != nil {
				return err
			}
			warnings := app.Unanswerable(l.Askers, people)
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, map[string]any{
					"revision": l.Revision, "name": l.Name, "path": l.Path, "whole": l.Whole, "modules": l.Modules, "unanswerable": append([]string{}, warnings...),
				})
			}
			for _, rule := range warnings {
				fmt.Fprintf(e.Stderr, "warning: nobody can approve what this rule holds: %s\n", holdgate.Visible(rule))
			}
			what := "the shipped pack"
			switch {
			case l.Whole:
				what = l.Path + ", which is the whole policy: it defines data.holdgate.decision"
			case l.Path != "":
				what = l.Path + " over the shipped pack"
			}
			_, err = fmt.Fprintf(e.Stdout, "policy %s: %s (%d modules)\n", l.Revision, holdgate.Visible(what), l.Modules)
			return err
		},
	}
}
