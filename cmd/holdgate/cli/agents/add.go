package agents

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/identity"
)

// A newAgent is what `agents add` has made.
type newAgent struct {
	Name        string `json:"name"`
	Token       string `json:"token"`
	TokenSHA256 string `json:"token_sha256"`
	YAML        string `json:"yaml"`
	command.WrittenTo
}

func agentsAddCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "add",
		UsageText: "holdgate agents add builder",
		Usage:     "make a token for an agent, and its configuration",
		ArgsUsage: "NAME",
		Description: "The token is printed this once and kept nowhere; the configuration holds its\n" +
			"SHA-256. Without --write nothing is changed. A running sidecar reads the file when\n" +
			"it is saved. An agent that `holdgate run` starts needs no token.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.BoolFlag{Name: "write", Usage: "put the agent into the configuration file"},
		},
		Action: func(c *cli.Context) error { return e.addAgent(c) },
	}
}

func (e *env) addAgent(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usage("agents add needs a name: holdgate agents add reviewer")
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	if _, there := s.Agents[name]; there {
		return command.Usage("%s is in the configuration already: take another name, or replace its token_sha256 there", name)
	}
	if err := command.Writable(c, s); err != nil {
		return err
	}
	n := newAgent{Name: name, Token: identity.NewToken()}
	a := config.Agent{TokenSHA256: identity.Hash(n.Token)}
	n.TokenSHA256, n.YAML = a.TokenSHA256.Hex(), "agents:\n"+a.Entry(name, "  ")
	file := s.File
	s.Agents = map[string]config.Agent{name: a}
	if err := s.Validate(); err != nil {
		return command.Usage("%v", err)
	}
	if c.Bool("write") {
		was, err := config.AddAgent(file, name, a)
		if err != nil {
			return err
		}
		n.WrittenTo = command.Wrote(file, was)
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, n)
	}
	_, err = fmt.Fprintf(e.Stdout, "The token of %s, which is shown this once:\n\n    %s\n\nThe agent shows it in one of these ways:\n\n"+
		"    HTTPS_PROXY=http://%[1]s:TOKEN@HOST:PORT\n    http://HOST:PORT/as/TOKEN/up/anthropic    as base URL; so /as/TOKEN/mcp/NAME\n"+
		"    Holdgate-Token: TOKEN                     as header\n    ANTHROPIC_API_KEY=TOKEN                   in the place of a key that Holdgate holds\n\n"+
		"%[3]s", n.Name, n.Token, n.Told(n.Name, n.YAML))
	return err
}
