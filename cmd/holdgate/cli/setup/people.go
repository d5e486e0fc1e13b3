package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// peopleCommand is about those who may answer.
func peopleCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "people",
		Usage:       "list and add those who may answer",
		Subcommands: []*cli.Command{peopleListCommand(e), peopleAddCommand(e)},
	}
}

// A personLine is a person as `people list` prints it.
type personLine struct {
	Name     string            `json:"name"`
	Roles    []string          `json:"roles"`
	Token    string            `json:"token"` // "own", "local" for that of the state folder, "none"
	Channels map[string]string `json:"channels,omitempty"`
}

func peopleListCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "list",
		UsageText: "holdgate people list",
		Usage:     "list the people of the configuration, and the holder of the state folder's token",
		Flags:     []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("people list takes no arguments, got %q", c.Args().First())
			}
			s, err := e.Settings(c)
			if err != nil {
				return err
			}
			list := personLines(s)
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, list)
			}
			w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tROLES\tTOKEN\tCHANNELS")
			for _, p := range list {
				var channels []string
				for _, name := range slices.Sorted(maps.Keys(p.Channels)) {
					channels = append(channels, name+":"+p.Channels[name])
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", command.Dash(p.Name), strings.Join(p.Roles, ", "), p.Token, command.Dash(strings.Join(channels, ", ")))
			}
			return w.Flush()
		},
	}
}

// personLines are the people that a sidecar with this configuration knows.
func personLines(s config.Config) []personLine {
	var list []personLine
	for _, name := range slices.Sorted(maps.Keys(s.People)) {
		p := s.People[name]
		l := personLine{Name: string(name), Token: "none", Channels: p.Channels}
		for _, r := range p.Roles {
			l.Roles = append(l.Roles, string(r))
		}
		switch {
		case p.TokenSHA256 != (config.TokenHash{}):
			l.Token = "own"
		case l.Name == s.Approver:
			l.Token = "local"
		}
		list = append(list, l)
	}
	if _, named := s.People[config.PersonName(s.Approver)]; !named {
		list = append(list, personLine{Name: s.Approver, Roles: []string{people.RoleApprove, people.RoleOperate, people.RoleAdmin}, Token: "local"})
	}
	return list
}
