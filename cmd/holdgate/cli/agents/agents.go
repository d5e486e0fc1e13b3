package agents

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// agentsCommand lists who asks.
func agentsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "agents",
		Usage: "list the agents that were seen, and add those that have a token",
		Subcommands: []*cli.Command{
			{
				Name: "list", UsageText: "holdgate agents list", Usage: "list the agents that were seen, and whether they may go on", Flags: []cli.Flag{command.JSONFlag()},
				Action: e.listAgents,
			},
			agentsAddCommand(e),
		},
	}
}

func (e *env) listAgents(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("agents list takes no arguments, got %q", c.Args().First())
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	list, err := sc.Agents(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, list)
	}
	all, err := sc.AgentStatus(c.Context, agents.Everybody)
	if err != nil {
		return err
	}
	if !all.Running() {
		if _, err := fmt.Fprintf(e.Stdout, "all agents are %s\n", holdgate.Visible(all.String())); err != nil {
			return err
		}
	}
	width, _ := e.Screen(e.Stdout)
	return printAgents(e.Stdout, list, time.Now(), width)
}

// printAgents prints what is known of each agent. A width of 0 is any.
func printAgents(w io.Writer, list []agents.Agent, now time.Time, width int) error {
	var rows [][]string
	for _, a := range list {
		identity, seen := "asserted", "not yet"
		if a.Proven {
			identity = "proven"
		}
		if a.Confinement != "" {
			identity += ", " + a.Confinement
		}
		if !a.LastSeen.IsZero() {
			seen = command.Short(now.Sub(a.LastSeen)) + " ago"
		}
		rows = append(rows, []string{a.ID, identity, seen, fmt.Sprint(a.Pending), fmt.Sprint(len(a.Sessions)), state(a), a.Usage.String()})
	}
	_, err := io.WriteString(w, command.Table(width, []string{"AGENT", "IDENTITY", "SEEN", "PENDING", "SESSIONS", "STATE", "USED"}, rows))
	return err
}

// state is what people have made of the agent. Whether its process runs nobody says.
func state(a agents.Agent) string {
	if a.Running() {
		return "may go on"
	}
	return a.Status.String()
}
