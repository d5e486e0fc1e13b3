package agents

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// interventionCommands are those that halt agents and let them go on.
func interventionCommands(e *env) []*cli.Command {
	return []*cli.Command{
		e.interventionCommand(agents.Pause, "release nothing more of an agent until it is resumed",
			"Requests of the agent wait in line; an answer that flows goes on as far as its\nfirst call. What is held stays held, and can be answered meanwhile."),
		e.interventionCommand(agents.Resume, "let an agent that was paused or stopped go on",
			"--all ends what --all began: an agent that was named stays as it is."),
		e.interventionCommand(agents.Stop, "refuse everything of an agent until it is resumed",
			"Answers that flow end, held calls are cancelled, and an agent that holdgate run\nstarted is ended: SIGTERM, and SIGKILL where it is there 5 seconds later."),
	}
}

func (e *env) interventionCommand(a agents.Action, short, long string) *cli.Command {
	return &cli.Command{
		Name: string(a), UsageText: "holdgate " + string(a) + " claude", Usage: short, ArgsUsage: "AGENT...",
		Description: long + "\nIt takes the role operate. holdgate agents lists the agents.",
		Flags: []cli.Flag{
			command.ReasonFlag("message", "m"), command.JSONFlag(),
			&cli.BoolFlag{Name: "all", Usage: string(a) + " all agents, those to come included"},
		},
		Action: func(c *cli.Context) error { return e.intervene(c, a) },
	}
}

// An intervened is what `pause --json` and its like print for each agent.
type intervened struct {
	Agent string `json:"agent"` // empty: all
	approvals.AgentStatus
}

func (e *env) intervene(c *cli.Context, a agents.Action) error {
	allAgents := c.Args().Slice()
	if c.Bool("all") == (len(allAgents) > 0) {
		return command.Usage("%s takes the names of agents, or --all", a)
	}
	for _, id := range allAgents {
		if strings.TrimSpace(id) == "" {
			return command.Usage("an agent's name is not empty: for all agents there is --all")
		}
	}
	if c.Bool("all") {
		allAgents = []string{agents.Everybody}
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return haltedLater(err)
	}
	defer sc.Close()
	done := []intervened{}
	var nothing error
	for _, id := range allAgents {
		before, err := sc.AgentStatus(c.Context, id)
		if err != nil {
			return haltedLater(err)
		}
		s, err := sc.Intervene(c.Context, id, api.Intervention{Action: a, Reason: c.String("reason")})
		if err != nil {
			return err
		}
		if a == agents.Resume && nothing == nil {
			nothing = nothingResumed(id, before, s, command.Again(c))
		}
		done = append(done, intervened{id, s})
		if !c.Bool("json") {
			if err := printIntervened(e.Stdout, id, s); err != nil {
				return err
			}
		}
	}
	if c.Bool("json") {
		if err := command.PrintJSON(e.Stdout, done); err != nil {
			return err
		}
	}
	return nothing
}

// haltedLater is the error of an intervention where no sidecar runs.
func haltedLater(err error) error {
	if _, ok := errors.AsType[*client.NoSidecarError](err); !ok {
		return err
	}
	x := command.Explain(err)
	x.Hint = "nothing was changed: what was paused or stopped stays so. Start the sidecar (holdgate serve, or holdgate run, " +
		"which waits for this), and give the command again meanwhile"
	return x
}

// nothingResumed is the error of a resume that changed nothing, and nil where it
// did: an agent that goes on had not been halted, or only resuming all of them lets
// it go on.
func nothingResumed(id string, before, after approvals.AgentStatus, more string) error {
	x := &command.Exit{Code: command.ExitNothing}
	switch {
	case before.Running() && id == agents.Everybody:
		x.Text, x.Hint = "all agents were not paused or stopped: nothing was resumed", "holdgate agents says which of them is, by its name"
	case before.Running():
		x.Text, x.Hint = id+" was not paused or stopped: nothing was resumed", "holdgate agents says who is"
	case id != agents.Everybody && before.Everybody && after.Everybody:
		x.Text, x.Hint = id+" was not paused or stopped by its name, all agents are: nothing was resumed", "holdgate resume --all"+more
	default:
		return nil
	}
	return x
}

// printIntervened says in one line where an agent stands now.
func printIntervened(w io.Writer, id string, s approvals.AgentStatus) error {
	who := id
	if id == agents.Everybody {
		who = "all agents"
	}
	line := fmt.Sprintf("%s: %s", who, s)
	if id != agents.Everybody && s.Everybody {
		line += " (all agents are)"
	}
	_, err := fmt.Fprintln(w, holdgate.Visible(line))
	return err
}
