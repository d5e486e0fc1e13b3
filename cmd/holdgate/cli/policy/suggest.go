package policy

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
	"github.com/holdgate/holdgate/store/audit"
)

func suggestCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "suggest",
		UsageText: "holdgate policy suggest --since 30d",
		Usage:     "name the exceptions that would have spared people the most questions",
		Description: "Prints settings to look at and to add to a file of your own beside your rules. None\n" +
			"of them would have let pass a call of the log that was denied, steered, edited or left\n" +
			"to time out. None is for programs, the network, secrets, gates, what is critical, or\n" +
			"what is known only when it runs. --tests prints a Rego test of each.",
		Flags: []cli.Flag{
			policyFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "since", Usage: "questions since this `TIME`: 30d, or 2026-11-22", Value: "30d"},
			&cli.IntFlag{Name: "at-least", Usage: "leave out what would have spared fewer than `N` questions", Value: learn.DefaultAtLeast},
			&cli.BoolFlag{Name: "tests", Usage: "print Rego tests of the suggestions in place of them"},
		},
		Action: e.policySuggest,
	}
}

func (e *env) policySuggest(c *cli.Context) error {
	q, err := command.Replayed(c, "policy suggest")
	if err != nil {
		return err
	}
	if c.Int("at-least") < 1 {
		return command.Usage("--at-least %d: want 1 or more", c.Int("at-least"))
	}
	var s learn.Suggestions
	err = e.withLearning(c, audit.Query{}, func(engine *rego.Engine, log learn.Log, own rego.Own) (err error) {
		s, err = learn.Suggest(c.Context, engine, log, learn.SuggestOptions{Own: own, Since: q.Since, AtLeast: c.Int("at-least")})
		return err
	})
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return command.PrintJSON(e.Stdout, s)
	case len(s.List) == 0:
		_, err := fmt.Fprintf(e.Stdout, "# Nothing to suggest: of %d questions, none could have been spared.\n"+
			"# --since and --at-least look further. What was denied once, and what people must see, is never suggested.\n%s", s.Questions, aboutCommands(s))
		return err
	case c.Bool("tests"):
		tests, err := s.Tests()
		if err == nil {
			_, err = io.WriteString(e.Stdout, tests)
		}
		return err
	}
	return writeSuggestions(e.Stdout, s)
}

// aboutCommands says what to do about shell commands, for which nothing is suggested.
func aboutCommands(s learn.Suggestions) string {
	if s.Commands == 0 {
		return ""
	}
	return fmt.Sprintf("# Shell commands among the approved questions: %d. Nothing is suggested for those.\n"+
		"# Answer such a question with w under `holdgate run`, or write an exception (`exceptions` in shipped-policies/README.md).\n", s.Commands)
}

// writeSuggestions prints a data file of a policy.
func writeSuggestions(w io.Writer, s learn.Suggestions) error {
	fmt.Fprintf(w, "# %d of %d questions would have been spared, all of which people approved.\n", s.Spares, s.Questions)
	fmt.Fprintf(w, "# None of the %d calls of the log that were denied would pass (%d can't be judged again: nothing is suggested for their tools).\n", s.Denied, s.Unknown)
	fmt.Fprint(w, aboutCommands(s), "settings:\n  exceptions:\n")
	for _, x := range s.List {
		whole := ""
		if x.WholeTool {
			whole = "; IT COVERS EVERY CALL OF THE TOOL that no other rule asks about"
		}
		fmt.Fprintf(w, "    # %d questions, %s to %s%s\n", x.Spares, x.First.Format(time.DateOnly), x.Last.Format(time.DateOnly), whole)
		text, err := yaml.Marshal([]rego.Exception{x.Exception})
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			fmt.Fprint(w, "    "+holdgate.Visible(strings.TrimRight(line, "\n"))+"\n")
		}
	}
	return nil
}
