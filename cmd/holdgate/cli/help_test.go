package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/docs/docstest"
)

func TestHelpFitsATerminalAndHasExamples(t *testing.T) {
	app := &cli.App{Name: "holdgate", Usage: "a usage", Flags: globalFlags(), Commands: commands(&env{&command.Env{}})}
	fits(t, "holdgate", app)
	for _, c := range app.Commands {
		if !c.Hidden && len(c.Usage) > helpWidth-14 {
			t.Errorf("%s: the usage takes more than one line of the list of commands: %q", c.Name, c.Usage)
		}
		if !slices.Contains(groups, c.Category) {
			t.Errorf("%s is in no group of the help", c.Name)
		}
		eachShown("holdgate", c, func(name string, c *cli.Command) {
			c.HelpName = name
			fits(t, name, c)
			if len(c.Subcommands) == 0 {
				checkExamples(t, name, c)
			}
		})
	}
}

// eachShown calls fn with a command and those below it, but for hidden ones.
func eachShown(above string, c *cli.Command, fn func(name string, c *cli.Command)) {
	if c.Hidden {
		return
	}
	name := above + " " + c.Name
	fn(name, c)
	for _, sub := range c.Subcommands {
		eachShown(name, sub, fn)
	}
}

// fits checks that no line of a help is wider than a terminal.
func fits(t *testing.T, name string, of any) {
	t.Helper()
	var b strings.Builder
	printHelp(&b, "", of)
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > helpWidth && !strings.HasPrefix(line, "  holdgate ") {
			t.Errorf("%s --help has a line of %d columns: %s", name, n, line)
		}
	}
}

var helpList = regexp.MustCompile(`\n(?:\n| +|- )`)

// What a help says is read once: no sentence of it has too many words.
func TestHelpReadsWell(t *testing.T) {
	sentences := 0
	for _, c := range commands(&env{&command.Env{}}) {
		eachShown("holdgate", c, func(name string, c *cli.Command) {
			texts := append(helpList.Split(c.Description, -1), c.Usage)
			for _, f := range c.VisibleFlags() {
				if f, ok := f.(cli.DocGenerationFlag); ok {
					texts = append(texts, f.GetUsage())
				}
			}
			for _, text := range texts {
				sentences++
				for _, fault := range docstest.TooLong(strings.ReplaceAll(text, "\n", " ")) {
					t.Errorf("%s --help: %s", name, fault)
				}
			}
		})
	}
	if sentences < 300 {
		t.Errorf("only %d texts were found", sentences)
	}
}

// checkExamples checks that a command has an example, of itself and with flags
// that there are.
func checkExamples(t *testing.T, name string, c *cli.Command) {
	t.Helper()
	if c.UsageText == "" {
		t.Errorf("%s has no example", name)
	}
	known := map[string]bool{"--": true}
	for _, f := range append(c.Flags, globalFlags()...) {
		known["--"+f.Names()[0]] = true
	}
	for line := range strings.Lines(c.UsageText) {
		if !strings.HasPrefix(strings.TrimRight(line, "\n")+" ", name+" ") {
			t.Errorf("%s has an example of something else: %s", name, line)
		}
		for _, word := range strings.Fields(line) {
			if word == "--" {
				break
			}
			if strings.HasPrefix(word, "--") && !known[word] {
				t.Errorf("%s has an example with the flag %s, which it does not have by that name", name, word)
			}
		}
	}
}
