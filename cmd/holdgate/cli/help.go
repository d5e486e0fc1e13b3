package cli

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// The help of every command is laid out for a terminal of 80 columns.
const (
	helpWidth  = 80
	helpColumn = 24 // where the text of a flag begins
)

// Commands are listed in these groups, in this order. A command without a group
// stands in the last one.
const (
	groupStart   = "Run an agent"
	groupAnswer  = "Decide what waits"
	groupAgents  = "Agents and their sessions"
	groupRules   = "Rules and records"
	groupSetup   = "Set up"
	groupScripts = "For agents and their scripts"
	groupOthers  = "Others"
)

var groups = []string{groupStart, groupAnswer, groupAgents, groupRules, groupSetup, groupScripts, groupOthers}

// in puts commands into a group.
func in(name string, list []*cli.Command) []*cli.Command {
	for _, c := range list {
		c.Category = name
	}
	return list
}

// printHelp writes the help of the program or of a command.
func printHelp(w io.Writer, _ string, of any) {
	var b strings.Builder
	switch of := of.(type) {
	case *cli.App:
		programHelp(&b, of.Name, of.Usage, of.Commands)
	case *cli.Command:
		if of.Category == "" && !strings.Contains(of.HelpName, " ") { // the program, where no command was named
			programHelp(&b, of.HelpName, of.Usage, of.Subcommands)
		} else {
			commandHelp(&b, of)
		}
	}
	_, _ = io.WriteString(w, b.String())
}

// programHelp lists the commands.
func programHelp(b *strings.Builder, name, usage string, commands []*cli.Command) {
	title(b, name, usage)
	b.WriteString("\nUsage:\n  holdgate COMMAND [FLAGS] [ARGUMENTS]\n")
	for _, group := range groups {
		var list []*cli.Command
		for _, c := range commands {
			if !c.Hidden && cmp.Or(c.Category, groupOthers) == group && c.Name != "help" {
				list = append(list, c)
			}
		}
		commandList(b, group, list)
	}
	flagList(b, "Flags of every command", globalFlags())
	b.WriteString("\nholdgate COMMAND --help says what a command takes.\n")
}

func title(b *strings.Builder, name, usage string) {
	b.WriteString(wrapped(name+" - "+usage, 0, helpWidth))
}

// commandHelp writes the help of one command.
func commandHelp(b *strings.Builder, c *cli.Command) {
	title(b, c.HelpName, c.Usage)
	takes := " [FLAGS]"
	if len(c.Subcommands) > 0 {
		takes = " COMMAND [FLAGS]"
	}
	b.WriteString("\nUsage:\n  " + strings.TrimRight(c.HelpName+takes+" "+c.ArgsUsage, " ") + "\n")
	if c.UsageText != "" {
		b.WriteString("\nExample:\n")
		for line := range strings.Lines(c.UsageText) {
			b.WriteString("  " + line)
		}
		b.WriteString("\n")
	}
	if c.Description != "" {
		for part := range strings.SplitSeq(c.Description, "\n\n") {
			b.WriteString("\n" + wrapped(part, 0, helpWidth))
		}
	}
	commandList(b, "Commands", slices.DeleteFunc(slices.Clone(c.Subcommands), func(c *cli.Command) bool { return c.Hidden || c.Name == "help" }))
	flagList(b, "Flags", slices.DeleteFunc(slices.Clone(c.Flags), isGlobal))
	if c.HelpName != "holdgate hook run" { // it finds its sidecar by --agents, and takes nothing else
		b.WriteString("\nEvery command takes --state-dir, --config and --token-file too: holdgate --help\n")
	}
}

// isGlobal reports whether every command has the flag.
func isGlobal(f cli.Flag) bool {
	return f.Names()[0] == "help" || slices.ContainsFunc(globalFlags(), func(g cli.Flag) bool { return g.Names()[0] == f.Names()[0] })
}

// commandList writes the commands of a group, if there are any.
func commandList(b *strings.Builder, title string, list []*cli.Command) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n" + title + ":\n")
	for _, c := range list {
		entry(b, c.Name, c.Usage, 14)
	}
}

// flagList writes flags, if there are any.
func flagList(b *strings.Builder, title string, flags []cli.Flag) {
	var shown []cli.Flag
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
			shown = append(shown, f)
		}
	}
	if len(shown) == 0 {
		return
	}
	b.WriteString("\n" + title + ":\n")
	for _, f := range shown {
		name, usage := flagHelp(f)
		entry(b, name, usage, helpColumn)
	}
}

// entry writes a name, and its text beside it or, where the name is too long,
// below it.
func entry(b *strings.Builder, name, text string, column int) {
	body := wrapped(text, column, helpWidth)
	if head := "  " + name; len(head)+2 <= column {
		b.WriteString(head + strings.Repeat(" ", column-len(head)) + strings.TrimLeft(body, " "))
	} else {
		b.WriteString(head + "\n" + body)
	}
}

var placeholder = regexp.MustCompile("`([^`]+)`")

// flagHelp is a flag by its one name, with what it takes, and what it is for.
// Other names that are understood are not shown, but for the flag's first letter.
func flagHelp(f cli.Flag) (name, usage string) {
	names := f.Names()
	name = "--" + names[0]
	if i := slices.Index(names, names[0][:1]); i > 0 {
		name = "-" + names[i] + ", " + name
	}
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return name, ""
	}
	usage = doc.GetUsage()
	what := "VALUE"
	if m := placeholder.FindStringSubmatch(usage); m != nil {
		what, usage = m[1], strings.Replace(usage, m[0], m[1], 1)
	}
	if doc.TakesValue() {
		name += " " + what
	}
	_, isSwitch := f.(*cli.BoolFlag)
	if v := doc.GetValue(); v != "" && v != "0" && v != "[]" && v != "0s" && (!isSwitch || v == "true") {
		usage += fmt.Sprintf(" (default: %s)", v)
	}
	return name, usage
}

// wrapped breaks a text into lines that begin at a column and end before width.
func wrapped(text string, column, width int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", column)
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && column+len([]rune(line))+1+len([]rune(w)) > width {
			b.WriteString(pad + line + "\n")
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		b.WriteString(pad + line + "\n")
	}
	return b.String()
}
