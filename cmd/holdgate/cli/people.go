package cli

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
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
		Flags:     []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage("people list takes no arguments, got %q", c.Args().First())
			}
			s, err := e.settings(c)
			if err != nil {
				return err
			}
			list := personLines(s)
			if c.Bool("json") {
				return printJSON(e.stdout, list)
			}
			w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tROLES\tTOKEN\tCHANNELS")
			for _, p := range list {
				var channels []string
				for _, name := range slices.Sorted(maps.Keys(p.Channels)) {
					channels = append(channels, name+":"+p.Channels[name])
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", dash(p.Name), strings.Join(p.Roles, ", "), p.Token, dash(strings.Join(channels, ", ")))
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

func peopleAddCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "add",
		UsageText: "holdgate people add bob --role deploy",
		Usage:     "make a token for a person, and the configuration that knows them by it",
		ArgsUsage: "NAME",
		Description: "The token is printed this once and kept nowhere; the configuration holds its\n" +
			"SHA-256. Without --write nothing is changed. A running sidecar reads the file when\n" +
			"it is saved, and knows the person once a person of the role admin has accepted it\n" +
			"(holdgate config accept). A role that nobody has yet takes --new-role: one that no rule\n" +
			"asks for lets a person answer nothing.",
		Flags: []cli.Flag{
			jsonFlag(),
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
	inFile
}

// An inFile says into which file something was put; its zero value: into none.
type inFile struct {
	Written string `json:"written,omitempty"`
	ModeWas string `json:"mode_was,omitempty"` // the file's, where others could read it
}

// writable checks that --write has a file.
func writable(c *cli.Context, s config.Config) error {
	if !c.Bool("write") || s.File != "" {
		return nil
	}
	x := usage("--write needs the file to write to: --config FILE, or %s", config.EnvConfig)
	x.hint = "holdgate init makes one that needs no naming"
	return x
}

// wrote is what was written to a file, which had this mode.
func wrote(file string, was os.FileMode) inFile {
	w := inFile{Written: file}
	if was&^config.FileMode != 0 {
		w.ModeWas = fmt.Sprintf("%04o", was)
	}
	return w
}

// told says what was written of somebody, or what is to be.
func (w inFile) told(name, yaml string) string {
	if w.Written == "" {
		return "Put this into the configuration (nothing was written):\n\n" + yaml
	}
	text := w.Written + " names " + name + " now. A running sidecar reads it; holdgate config says whether it waits to be accepted.\n"
	if w.ModeWas != "" {
		text += fmt.Sprintf("Its mode was %s and is %04o now: only its owner may read it.\n", w.ModeWas, config.FileMode)
	}
	return text
}

func (e *env) addPerson(c *cli.Context) error {
	if c.NArg() != 1 || !c.IsSet("role") {
		return usage("people add needs a name and a role: holdgate people add bob --role approve")
	}
	name, err := config.ParsePersonName(c.Args().First())
	if err != nil {
		return usage("%v", err)
	}
	n := newPerson{Name: string(name), Roles: c.StringSlice("role")}
	p := config.Person{}
	for _, r := range n.Roles {
		role, err := config.ParseRole(r)
		if err != nil {
			return usage("%v", err)
		}
		p.Roles = append(p.Roles, role)
	}
	s, err := e.settings(c)
	if err != nil {
		return err
	}
	if _, there := s.People[name]; there {
		return usage("%s is in the configuration already: take another name, or replace its token_sha256 there", name)
	}
	if known := s.Roles(); !c.Bool("new-role") {
		for _, r := range n.Roles {
			if !slices.Contains(known, r) {
				x := usage("there is no role %s: want %s", r, strings.Join(known, ", "))
				x.hint = "where your rules ask for the role " + r + ", add --new-role"
				return x
			}
		}
	}
	if err := writable(c, s); err != nil {
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
		n.inFile = wrote(s.File, was)
	}
	if c.Bool("json") {
		return printJSON(e.stdout, n)
	}
	return e.printNewPerson(n)
}

func (e *env) printNewPerson(n newPerson) error {
	_, err := fmt.Fprintf(e.stdout, "The token of %s, which is shown this once:\n\n    %s\n\n"+
		"%[1]s keeps it in a file of mode 0600, and comes with --token-file FILE or HOLDGATE_TOKEN_FILE.\n\n%[3]s", n.Name, n.Token, n.told(n.Name, n.YAML))
	return err
}
