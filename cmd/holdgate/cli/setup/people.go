package setup

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
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
		Name:        "list",
		UsageText:   "holdgate people list",
		Usage:       "list the people who may answer, and the holder of the state folder's token",
		Description: "A running sidecar says whom it has in force. Where none runs, the configuration does.",
		Flags:       []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("people list takes no arguments, got %q", c.Args().First())
			}
			list, err := e.personLines(c)
			if err != nil {
				return err
			}
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

// personLines are the people whom the running sidecar has in force or, where none runs
// that says it, those of the configuration.
func (e *env) personLines(c *cli.Context) ([]personLine, error) {
	sc, err := e.Sidecar(c)
	var inForce []api.PersonState
	if err == nil {
		defer sc.Close()
		inForce, err = sc.People(c.Context)
	}
	_, none := errors.AsType[*client.NoSidecarError](err)
	if p, told := errors.AsType[*api.Problem](err); none || told && p.Word() == api.ProblemNotFound {
		s, err := e.Settings(c)
		return configuredLines(s), err
	}
	if err != nil {
		return nil, err
	}
	s, _ := e.Settings(c) // says who comes with the folder's token, unless it has a fault
	var list []personLine
	for _, p := range inForce {
		if p.Removed {
			continue
		}
		l := personLine{Name: p.Name, Roles: p.Roles, Token: "none"}
		named, ofFile := s.People[config.PersonName(p.Name)]
		switch {
		case p.Source == api.SourceLocal, p.Name == s.Approver && ofFile && named.TokenSHA256 == (config.TokenHash{}):
			l.Token = "local"
		case p.Token:
			l.Token = "own"
		}
		for _, account := range p.Accounts {
			channel, user, _ := strings.Cut(account, ":")
			if l.Channels == nil {
				l.Channels = map[string]string{}
			}
			l.Channels[channel] = user
		}
		list = append(list, l)
	}
	return list, nil
}

// configuredLines are the people that a sidecar with this configuration knows.
func configuredLines(s config.Config) []personLine {
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
