package agents

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// redirectCommand tells an agent to do something else.
func redirectCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "redirect", UsageText: "holdgate redirect claude \"mend the tests first\"", Usage: "tell an agent to leave what it does, and do something else", ArgsUsage: "AGENT INSTRUCTION",
		Description: "The instruction goes into the agent's next model request, marked as a person's.\n" +
			"What is held stays held. It takes the role operate.",
		Flags: []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error {
			text := strings.TrimSpace(strings.Join(c.Args().Tail(), " "))
			if c.Args().First() == "" || text == "" {
				return command.Usage("redirect takes an agent and an instruction: holdgate redirect AGENT \"do this instead\"")
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			agent := c.Args().First()
			s, err := sc.Intervene(c.Context, agent, api.Intervention{Action: agents.Redirect, Instruction: text})
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, intervened{agent, s})
			}
			_, err = fmt.Fprintf(e.Stdout, "%s: redirected; its next model request has the instruction\n", holdgate.Visible(agent))
			return err
		},
	}
}
