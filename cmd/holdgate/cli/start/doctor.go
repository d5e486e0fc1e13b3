package start

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
)

// doctorCommand says what this machine can do.
func doctorCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		UsageText: "holdgate doctor claude",
		Usage:     "check this machine's sandbox, and what Holdgate sees of an agent",
		ArgsUsage: "[AGENT]",
		Description: "Sandboxes a process that does nothing, in each of the ways that run knows. Name\n" +
			"an agent (" + strings.Join(launch.Known(), ", ") + ", or any other program) to\n" +
			"see how it is led to Holdgate. doctor then also says what policy sees of the\n" +
			"agent, what it does not see, and what you can do about that. The exit code is 0\n" +
			"if the sandbox can be strong here, and 1 otherwise.",
		Flags: []cli.Flag{command.JSONFlag(),
			&cli.StringFlag{Name: "bundle", Usage: "write a report for others to read into `FILE`, a new .tar.gz without secrets"}},
		Action: e.examine,
	}
}

// A finding is what doctor says of one kind of confinement.
type finding struct {
	Confinement string   `json:"confinement"`
	Possible    bool     `json:"possible"`
	Missing     string   `json:"missing,omitempty"` // which part
	Why         string   `json:"why,omitempty"`
	Hint        string   `json:"hint,omitempty"`
	Open        []string `json:"open"` // the holes that it leaves
}

// holes are what each confinement leaves open; docs/run.md has them in full.
var holes = map[string][]string{
	confine.Strong: {
		"the agent reads what you can read, but for Holdgate's own files",
		"what it writes in its folder, caches and its own settings you may run later, outside",
		"a host that policy allows takes whatever is written to it",
	},
	confine.Weak: {
		"all that strong leaves open",
		"names and modes of the state folder, command lines of other processes",
		"what it starts may outlive it; other programs of yours can use its door",
	},
}

func (e *env) examine(c *cli.Context) error {
	if c.IsSet("bundle") {
		return e.bundle(c)
	}
	if c.NArg() > 1 {
		return command.Usage("doctor takes one agent at most, got %q too", c.Args().Get(1))
	}
	self, err := run.ConfinedArgs()
	if err != nil {
		return err
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	found := confinements(self, networkHoles(s))
	if c.Args().Present() {
		err = e.printAgent(c, agentFinding{launch.About(c.Args().First()), found})
	} else {
		err = e.printFindings(c, found)
	}
	if err != nil {
		return err
	}
	if !found[0].Possible {
		return &command.Exit{Code: command.ExitFailed}
	}
	return nil
}

// confinements tries each kind of confinement, the strongest first.
func confinements(self []string, open []string) (found []finding) {
	for _, kind := range []string{confine.Strong, confine.Weak} {
		f := finding{Confinement: kind, Open: slices.Concat(holes[kind], open)}
		err := confine.Check(kind, self)
		missing, ok := errors.AsType[*confine.MissingError](err)
		switch {
		case ok:
			f.Missing, f.Why, f.Hint = missing.Part, missing.Err.Error(), missing.Hint
		case err != nil:
			f.Why = err.Error()
		default:
			f.Possible = true
		}
		found = append(found, f)
	}
	return found
}

// An agentFinding is what doctor says of an agent.
type agentFinding struct {
	launch.Agent
	Confinements []finding `json:"confinements"`
}

func (e *env) printAgent(c *cli.Context, f agentFinding) error {
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, f)
	}
	known := ""
	if !f.Known {
		known = " (not tried: what holds for any program)"
	}
	fmt.Fprintf(e.Stdout, "%s%s\n  led by: %s\n", holdgate.Visible(f.Program), known, holdgate.Visible(f.Led))
	for _, part := range []struct {
		word  string
		lines []string
	}{{"seen", f.Seen}, {"not seen", f.Unseen}, {"do", f.Do}} {
		for _, l := range part.lines {
			fmt.Fprintf(e.Stdout, "  %s: %s\n", part.word, holdgate.Visible(l))
		}
	}
	fmt.Fprintln(e.Stdout)
	return e.printFindings(c, f.Confinements)
}

func (e *env) printFindings(c *cli.Context, found []finding) error {
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, found)
	}
	for _, f := range found {
		if f.Possible {
			fmt.Fprintf(e.Stdout, "%s confinement: yes\n", f.Confinement)
			for _, hole := range f.Open {
				fmt.Fprintf(e.Stdout, "  open: %s\n", hole)
			}
			continue
		}
		fmt.Fprintf(e.Stdout, "%s confinement: no\n  missing: %s\n", f.Confinement, holdgate.Visible(fmt.Sprintf("%s (%s)", f.Missing, f.Why)))
		if f.Hint != "" {
			fmt.Fprintf(e.Stdout, "  do: %s\n", f.Hint)
		}
	}
	return nil
}
