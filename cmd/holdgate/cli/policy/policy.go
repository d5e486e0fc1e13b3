package policy

import (
	"cmp"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego"
)

// policyCommand loads, tests and asks a policy, without a sidecar, and asks it
// about past calls.
func policyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "policy",
		Usage: "check, test and ask a policy, and judge past calls by it",
		Subcommands: []*cli.Command{
			checkCommand(e),
			testCommand(e),
			tryCommand(e),
			evalCommand(e),
			explainCommand(e),
			replayCommand(e),
			suggestCommand(e),
			scoreCommand(e),
			rollBackCommand(e),
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
		return rego.Options{}, command.Usage("one PATH is enough, got %q too", args[1])
	case len(args) == 1 && c.IsSet("policy"):
		return rego.Options{}, command.Usage("the policy is named twice: %q and %q", c.String("policy"), args[0])
	}
	s, err := e.Settings(c)
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
