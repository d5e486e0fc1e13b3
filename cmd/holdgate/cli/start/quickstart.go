package start

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
)

func quickstartCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "quickstart",
		UsageText: "holdgate quickstart",
		Usage:     "find the agents here, write a configuration, see a first held call",
		Description: "It names the agents on this machine, how Holdgate reaches each, and what it sees of\n" +
			"it. It says how agents are confined here. In a terminal it then offers to write a\n" +
			"configuration, where there is none, and to hold a first call: the demo's.",
		Action: func(c *cli.Context) error { return e.quickstart(c) },
	}
}

func (e *env) quickstart(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("quickstart takes no arguments, got %q", c.Args().First())
	}
	self, err := run.ConfinedArgs()
	if err != nil {
		return err
	}
	found, kinds := installed(), confinements(self, nil)
	agent, how := "YOUR-AGENT", confinement(kinds)
	if len(found) > 0 {
		agent = found[0]
	}
	fmt.Fprintf(e.Stdout, "Start: holdgate run %s-- %s\n\n", how, agent)
	e.showAgents(found)
	e.showConfinement(kinds)
	if err := e.offerConfiguration(c); err != nil {
		return err
	}
	if err := e.offerFirstCall(c); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "\nStart an agent, in its project's folder:\n\n    holdgate run %s-- %s\n\nWhat it asks for and policy holds, you are asked about in that terminal.\n", how, agent)
	return err
}

// showAgents names the agents that are installed, and what is seen of each; what holds
// for all of them it says once.
func (e *env) showAgents(found []string) {
	if len(found) == 0 {
		fmt.Fprintf(e.Stdout, "No agent that Holdgate knows is in PATH. It works with any.\n\n")
		return
	}
	all := launch.About("YOUR-AGENT")
	for _, name := range found {
		path, _ := exec.LookPath(name)
		a := launch.About(name)
		fmt.Fprintf(e.Stdout, "%s (%s)\n  led by: %s\n", name, holdgate.Visible(path), holdgate.Visible(a.Led))
		e.showSeen(a, all)
	}
	fmt.Fprintln(e.Stdout, "each of them")
	all.Do = nil // this is for those of which nothing was tried
	e.showSeen(all, launch.Agent{})
}

// installed are the agents that Holdgate knows and that are in PATH.
func installed() (found []string) {
	for _, name := range launch.Known() {
		if _, err := exec.LookPath(name); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// showSeen is what is seen of an agent, besides what is said elsewhere.
func (e *env) showSeen(a, but launch.Agent) {
	for _, part := range []struct {
		word      string
		lines, no []string
	}{{"seen", a.Seen, but.Seen}, {"not seen", a.Unseen, but.Unseen}, {"do", a.Do, but.Do}} {
		for _, l := range part.lines {
			if !slices.Contains(part.no, l) {
				fmt.Fprintf(e.Stdout, "  %s: %s\n", part.word, holdgate.Visible(l))
			}
		}
	}
	fmt.Fprintln(e.Stdout)
}

// confinement is the flag of run that this machine takes.
func confinement(kinds []finding) string {
	for _, f := range kinds {
		switch {
		case f.Possible && f.Confinement == confine.Weak:
			return "--confine weak "
		case f.Possible:
			return ""
		}
	}
	return "--unconfined "
}

// showConfinement says how agents are confined here.
func (e *env) showConfinement(kinds []finding) {
	for _, f := range kinds {
		if !f.Possible {
			continue
		}
		fmt.Fprintf(e.Stdout, "Confinement here: %s\n", f.Confinement)
		for _, hole := range f.Open {
			fmt.Fprintf(e.Stdout, "  stays open: %s\n", hole)
		}
		return
	}
	fmt.Fprintln(e.Stdout, "Confinement here: none. An agent can go around Holdgate.")
	for _, f := range kinds {
		fmt.Fprintf(e.Stdout, "  %s: missing is %s\n", f.Confinement, holdgate.Visible(fmt.Sprintf("%s (%s)", f.Missing, f.Why)))
		if f.Hint != "" {
			fmt.Fprintf(e.Stdout, "    do: %s\n", f.Hint)
		}
	}
}

// offerConfiguration writes what `holdgate init` does, where there is nothing yet and
// the person wants it.
func (e *env) offerConfiguration(c *cli.Context) error {
	place := config.Place(e.Getenv)
	if s, err := e.Settings(c); err == nil && s.File != "" {
		fmt.Fprintf(e.Stdout, "\nConfiguration: %s\n", holdgate.Visible(s.File))
		return nil
	}
	if _, err := os.Stat(place); place == "" || !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(e.Stdout, "\nConfiguration: the one that is there does not load; holdgate config says why")
		return nil
	}
	return e.offer(c, fmt.Sprintf("\nThere is no configuration, and none is needed. Type yes to write %s, with a rule of your own to change (Enter: no): ", holdgate.Visible(place)), "init")
}

// offerFirstCall runs the demo, if the person wants it.
func (e *env) offerFirstCall(c *cli.Context) error {
	return e.offer(c, "\nA small agent can show a held call now, with no key and no network. Type yes to see it (Enter: no): ", "demo")
}

// offer runs a command if the person on the terminal says yes. Where nobody can be asked
// it names the command.
func (e *env) offer(c *cli.Context, question, name string) error {
	yes, err := e.ConfirmWord(c.Context, e.Stdout, question, "yes", "y", "Y", "Yes", "YES")
	switch {
	case errors.Is(err, command.ErrNoTerminal):
		fmt.Fprintf(e.Stdout, "\nNext: holdgate %s\n", name)
		return nil
	case err != nil || !yes:
		return err
	}
	fmt.Fprintln(e.Stdout)
	return c.App.RunContext(c.Context, []string{c.App.Name, name})
}
