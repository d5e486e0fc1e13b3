package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/rego"
)

// maxInput bounds an input of policy eval, in bytes.
const maxInput = 32 << 20

// policyCommand loads, tests and asks a policy, without a sidecar, and asks it
// about past calls.
func policyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "policy",
		Usage: "check, test and ask a policy, and judge past calls by it",
		Subcommands: []*cli.Command{
			policyCheckCommand(e),
			policyTestCommand(e),
			policyTryCommand(e),
			policyEvalCommand(e),
			policyExplainCommand(e),
			policyReplayCommand(e),
			policySuggestCommand(e),
			policyScoreCommand(e),
			policyRollBackCommand(e),
		},
	}
}

func policyFlag() cli.Flag {
	return &cli.StringFlag{Name: "policy", Usage: "rules of your own: a `FILE, FOLDER or BUNDLE`; default: the configuration's"}
}

// patience is how long a command waits for one decision: no call waits behind
// it, and what it says shall not depend on how busy the machine is.
const patience = 10 * time.Second

// policyOptions is the policy that --policy or the argument names, or the
// configuration.
func (e *env) policyOptions(c *cli.Context, args ...string) (rego.Options, error) {
	switch {
	case len(args) > 1:
		return rego.Options{}, usage("one PATH is enough, got %q too", args[1])
	case len(args) == 1 && c.IsSet("policy"):
		return rego.Options{}, usage("the policy is named twice: %q and %q", c.String("policy"), args[0])
	}
	s, err := e.settings(c)
	if err != nil {
		return rego.Options{}, err
	}
	if path := cmp.Or(strings.Join(args, ""), c.String("policy")); path != "" {
		s.Policy.Path, s.Policy.OPAConfig = path, ""
	}
	o, err := app.PolicyOptions(s)
	o.Timeout = max(o.Timeout, patience)
	return o, err
}

func policyCheckCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "check",
		UsageText: "holdgate policy check rules/",
		Usage:     "load a policy as serve does, and say what it is or why it does not load",
		ArgsUsage: "[PATH]",
		Flags:     []cli.Flag{policyFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			o, err := e.policyOptions(c, c.Args().Slice()...)
			if err != nil {
				return err
			}
			l, err := rego.Check(c.Context, o)
			if err != nil {
				return err
			}
			settings, err := e.settings(c)
			if err != nil {
				return err
			}
			people, err := app.People(settings)
			if err != nil {
				return err
			}
			warnings := app.Unanswerable(l.Askers, people)
			if c.Bool("json") {
				return printJSON(e.stdout, map[string]any{
					"revision": l.Revision, "name": l.Name, "path": l.Path, "whole": l.Whole, "modules": l.Modules, "unanswerable": append([]string{}, warnings...),
				})
			}
			for _, rule := range warnings {
				fmt.Fprintf(e.stderr, "warning: nobody can approve what this rule holds: %s\n", holdgate.Visible(rule))
			}
			what := "the shipped pack"
			switch {
			case l.Whole:
				what = l.Path + ", which is the whole policy: it defines data.holdgate.decision"
			case l.Path != "":
				what = l.Path + " over the shipped pack"
			}
			_, err = fmt.Fprintf(e.stdout, "policy %s: %s (%d modules)\n", l.Revision, holdgate.Visible(what), l.Modules)
			return err
		},
	}
}

func policyTestCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "test",
		UsageText: "holdgate policy test rules/ --coverage",
		Usage:     "run a policy's tests (*_test.rego) over what serve would load",
		ArgsUsage: "[PATH]",
		Flags: []cli.Flag{
			policyFlag(), jsonFlag(),
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
				err = printJSON(e.stdout, r)
			case c.Bool("coverage") && r.Failed == 0:
				err = writeCoverage(e.stdout, r.Coverage)
			default:
				err = r.Write(e.stdout, c.Bool("verbose"))
			}
			switch {
			case err != nil:
				return err
			case len(r.Results) == 0:
				return &exitError{code: exitNothing, text: "no tests were found", hint: "tests are rules test_... in files *_test.rego beside the policy"}
			case r.Failed > 0:
				return &exitError{code: exitFailed, text: fmt.Sprintf("%d of %d tests failed", r.Failed, len(r.Results))}
			}
			return nil
		},
	}
}

func policyEvalCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "eval",
		UsageText: "holdgate policy eval call.json",
		Usage:     "ask a policy about an input and print its decision",
		ArgsUsage: "[INPUT.json]",
		Description: "The input is read from the file, or from standard input. It is what policies see, or\n" +
			"just a call: {\"kind\": \"tool_call\", \"tool\": {\"name\": \"Bash\", \"arguments\": {...}}}; facts,\n" +
			"category, mode and time are worked out. Exits 0 for allow and hold, 3 for deny.",
		Flags: []cli.Flag{policyFlag(), jsonFlag(), failFlag(), &cli.StringFlag{Name: "input", Usage: "read the input from `FILE`; - is standard input"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("policy eval takes one input, got %q too", c.Args().Get(1))
			}
			if c.Args().Present() && c.IsSet("input") {
				return usage("the input is named twice: %q and %q", c.String("input"), c.Args().First())
			}
			input, err := e.readInput(cmp.Or(c.String("input"), c.Args().First()))
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

// readInput reads a file, or standard input where none is named.
func (e *env) readInput(path string) ([]byte, error) {
	in := e.stdin
	if path != "" && path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the input: %w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading the input: %w", err)
	}
	if len(b) > maxInput {
		return nil, fmt.Errorf("the input is over %d bytes", maxInput)
	}
	return b, nil
}

// failFlag has a script stop at what would not pass.
func failFlag() cli.Flag {
	return &cli.BoolFlag{Name: "fail", Usage: "exit 3 for hold too, so that only allow is 0"}
}

// printDecision prints a decision, and makes a denial an exit code.
func (e *env) printDecision(c *cli.Context, d holdgate.Decision) error {
	var err error
	if c.Bool("json") {
		err = printJSON(e.stdout, rego.Document(d))
	} else {
		_, err = fmt.Fprintf(e.stdout, "%s  %s  %s\n", d.Action, dash(d.Rule), holdgate.Visible(d.Reason))
	}
	return errors.Join(err, refused(c, d))
}

// refused is the exit code of a decision by which a call does not pass.
func refused(c *cli.Context, d holdgate.Decision) error {
	if d.Action == holdgate.Deny || d.Action == holdgate.Hold && c.Bool("fail") {
		return &exitError{code: exitDenied}
	}
	return nil
}
