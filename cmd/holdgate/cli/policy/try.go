package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/verdict"
)

// tryCommand asks a policy about a call that a person makes up.
func tryCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "try",
		UsageText: "holdgate policy try 'kubectl delete pod x'\nholdgate policy try --tool write_file '{\"path\": \"/etc/hosts\", \"content\": \"\"}'",
		Usage:     "say what a policy makes of a command, and by which rules",
		ArgsUsage: "COMMAND",
		Description: "COMMAND is what an agent would have its shell run. Nothing is run. With --tool it\n" +
			"is a call of that tool, and COMMAND its arguments as JSON. Exits 0 for allow and\n" +
			"hold, 3 for deny.",
		Flags: []cli.Flag{
			policyFlag(), command.JSONFlag(), failFlag(),
			&cli.StringFlag{Name: "tool", Usage: "a call of the tool `NAME`, in place of a command"},
			&cli.StringFlag{Name: "cwd", Usage: "the session's `FOLDER` (default: this one)"},
			&cli.BoolFlag{Name: "facts", Usage: "print what rules read as input.facts, in place of the decision"},
			&cli.BoolFlag{Name: "undo", Usage: "as if the agent ran under holdgate run --undo"},
		},
		Action: func(c *cli.Context) error { return e.tryPolicy(c) },
	}
}

// tried is the call that the command line describes.
func tried(c *cli.Context) (*holdgate.Tool, error) {
	if c.NArg() != 1 || strings.TrimSpace(c.Args().First()) == "" {
		return nil, command.Usage("policy try takes one COMMAND, in quotes: holdgate policy try 'rm -rf build'")
	}
	if name := c.String("tool"); name != "" {
		args := json.RawMessage(c.Args().First())
		var members map[string]json.RawMessage
		if err := json.Unmarshal(args, &members); err != nil || members == nil {
			return nil, command.Usage("the arguments of %s are no JSON object: %s", name, c.Args().First())
		}
		return &holdgate.Tool{Name: name, Arguments: args}, nil
	}
	args, err := json.Marshal(map[string]string{"command": c.Args().First()})
	return &holdgate.Tool{Name: "Bash", Arguments: args}, err
}

func (e *env) tryPolicy(c *cli.Context) error {
	tool, err := tried(c)
	if err != nil {
		return err
	}
	dir := c.String("cwd")
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return fmt.Errorf("finding the working folder: %w", err)
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("finding the session's folder: %w", err)
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	o, err := e.policyOptions(c)
	if err != nil {
		return err
	}
	o.KeepSeen = true
	engine, err := rego.Open(c.Context, o)
	if err != nil {
		return err
	}
	defer engine.Close(c.Context)
	call := holdgate.Call{Kind: holdgate.KindToolCall, Time: time.Now(), Tool: tool}
	if call.Agent.Proofs = proofs(c); call.Agent.Undo {
		call.Agent.Confinement = "strong"
	}
	own := app.Own(s)
	d := engine.Decide(c.Context, rego.Input{Call: call, Dir: dir, Own: own})
	if c.Bool("facts") {
		why, err := engine.Explain(c.Context, rego.Past{Call: call, Seen: d.Seen, Own: own}, false)
		if err != nil {
			return err
		}
		input, _ := why.Input.(map[string]any)
		return errors.Join(command.PrintJSON(e.Stdout, input["facts"]), refused(c, d))
	}
	if c.Bool("json") {
		return errors.Join(command.PrintJSON(e.Stdout, verdict.Document(d)), refused(c, d))
	}
	x := explained{decision: d}
	if why, err := engine.Explain(c.Context, rego.Past{Call: call, Seen: d.Seen, Own: own}, false); err == nil {
		x.Fired, x.decision.Facts = why.Fired, why.Decision.Facts
	} else if _, unknown := errors.AsType[*rego.UnjudgedError](err); !unknown {
		return err
	}
	if d.Action != holdgate.Allow {
		b := briefing.Make(call, 0, x.decision) // with the facts, which a denial does not keep
		x.says = b.Summary
		if b.Undo != "" {
			x.says += "; " + b.Undo
		}
	}
	return errors.Join(x.writeTried(e), refused(c, d))
}

// writeTried prints what became of a call that was made up.
func (x *explained) writeTried(e *env) error {
	var b strings.Builder
	width, _ := e.Screen(e.Stdout)
	line := liner(&b, width)
	d := x.decision
	if x.says != "" {
		line("%s", x.says)
	}
	line("%s by rule %s%s", d.Action, command.Dash(d.Rule), risk(string(d.Risk)))
	if d.Reason != "" {
		line("  %s", d.Reason)
	}
	x.writeRules(line)
	line("what they saw:")
	for _, fact := range sawInWords(d.Facts, nil) {
		line("  %s", fact)
	}
	_, err := fmt.Fprint(e.Stdout, b.String())
	return err
}
