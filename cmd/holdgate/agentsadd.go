package main

import (
	"encoding/hex"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/identity"
)

// A newAgent is what `agents add` has made.
type newAgent struct {
	Name        string `json:"name"`
	Token       string `json:"token"`
	TokenSHA256 string `json:"token_sha256"`
	YAML        string `json:"yaml"`
}

func agentsAddCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "make a token for an agent, and the configuration that knows it by it",
		ArgsUsage: "NAME",
		Description: "The token is printed this once and kept nowhere; the configuration holds its\n" +
			"SHA-256. Nothing is changed: put what is printed into the configuration and start\n" +
			"the sidecar anew. An agent that `holdgate run` starts needs no token.",
		Flags:  []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error { return e.addAgent(c) },
	}
}

func (e *env) addAgent(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage("agents add needs a name: holdgate agents add reviewer")
	}
	s, err := e.settings(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	if _, there := s.Agents[name]; there {
		return usage("%s is in the configuration already: take another name, or replace its token_sha256 there", name)
	}
	n := newAgent{Name: name, Token: identity.NewToken()}
	hash := identity.Hash(n.Token)
	n.TokenSHA256 = hex.EncodeToString(hash[:])
	s.Agents = map[string]config.Agent{name: {TokenSHA256: hash}}
	if err := s.Validate(); err != nil {
		return usage("%v", err)
	}
	n.YAML = fmt.Sprintf("agents:\n  %s:\n    token_sha256: \"%s\"\n", name, n.TokenSHA256)
	if c.Bool("json") {
		return printJSON(e.stdout, n)
	}
	_, err = fmt.Fprintf(e.stdout, "The token of %s, which is shown this once:\n\n    %s\n\nThe agent shows it in one of these ways:\n\n"+
		"    HTTPS_PROXY=http://%[1]s:TOKEN@HOST:PORT\n    http://HOST:PORT/as/TOKEN/up/anthropic    as base URL; so /as/TOKEN/mcp/NAME\n"+
		"    Holdgate-Token: TOKEN                     as header\n    ANTHROPIC_API_KEY=TOKEN                   in the place of a key that Holdgate holds\n\n"+
		"Put this into the configuration (nothing was written), and start the sidecar anew:\n\n%[3]s", n.Name, n.Token, n.YAML)
	return err
}
