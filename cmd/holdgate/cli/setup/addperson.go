package setup

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

func peopleAddCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "add",
		UsageText: "holdgate people add bob --role approve --role deploy --new-role",
		Usage:     "make a token for a person, and the configuration that knows them by it",
		ArgsUsage: "NAME",
		Description: "The token is printed this once and kept nowhere; the configuration holds its\n" +
			"SHA-256. Without --write nothing is changed. A running sidecar reads the file when\n" +
			"it is saved, and knows the person once a person of the role admin has accepted it\n" +
			"(holdgate config accept). A role that nobody has yet takes --new-role: one that no rule\n" +
			"asks for lets a person answer nothing.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.StringSliceFlag{Name: "role", Usage: "a `ROLE`: approve, operate, admin, or one that your rules ask for; repeatable"},
			&cli.BoolFlag{Name: "new-role", Usage: "a ROLE may be one that the configuration does not name yet"},
			&cli.BoolFlag{Name: "write", Usage: "put the person into the configuration file"},
		},
		Action: func(c *cli.Context) error { return e.addPerson(c) },
	}
}

// A newPerson is what `people add` has made.
type newPerson struct {
	Name        string   `json:"name"`
	Roles       []string `json:"roles"`
	Token       string   `json:"token"`
	TokenSHA256 string   `json:"token_sha256"`
	YAML        string   `json:"yaml"`
	command.WrittenTo
}

func (e *env) addPerson(c *cli.Context) error {
	if c.NArg() != 1 || !c.IsSet("role") {
		return command.Usage("people add needs a name and a role: holdgate people add bob --role approve")
	}
	name, err := config.ParsePersonName(c.Args().First())
	if err != nil {
		return command.Usage("%v", err)
	}
	n := newPerson{Name: string(name), Roles: c.StringSlice("role")}
	p := config.Person{}
	for _, r := range n.Roles {
		role, err := config.ParseRole(r)
		if err != nil {
			return command.Usage("%v", err)
		}
		p.Roles = append(p.Roles, role)
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	if _, there := s.People[name]; there {
		return command.Usage("%s is in the configuration already: take another name, or replace its token_sha256 there", name)
	}
	if known := s.Roles(); !c.Bool("new-role") {
		for _, r := range n.Roles {
			if !slices.Contains(known, r) {
				x := command.Usage("there is no role %s: want %s", r, strings.Join(known, ", "))
				x.Hint = "where your rules ask for the role " + r + ", add --new-role"
				return x
			}
		}
	}
	if err := command.Writable(c, s); err != nil {
		return err
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: see its documentation
	n.Token = hex.EncodeToString(b[:])
	p.TokenSHA256 = config.TokenHash(api.HashToken(n.Token))
	n.TokenSHA256, n.YAML = p.TokenSHA256.Hex(), "people:\n"+p.Entry(name, "  ")
	if c.Bool("write") {
		was, err := config.AddPerson(s.File, name, p)
		if err != nil {
			return err
		}
		n.WrittenTo = command.Wrote(s.File, was)
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, n)
	}
	return e.printNewPerson(n)
}

func (e *env) printNewPerson(n newPerson) error {
	_, err := fmt.Fprintf(e.Stdout, "The token of %s, which is shown this once:\n\n    %s\n\n"+
		"%[1]s keeps it in a file of mode 0600, and comes with --token-file FILE or HOLDGATE_TOKEN_FILE.\n\n%[3]s", n.Name, n.Token, n.Told(n.Name, n.YAML))
	return err
}
