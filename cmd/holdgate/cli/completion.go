package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/decide"
)

// completeName is the command that the shells' scripts ask.
const completeName = "__complete"

// completionScripts make a shell ask what may stand where the cursor is.
var completionScripts = map[string]string{
	"bash": `_holdgate() {
  local IFS=$'\n'
  COMPREPLY=($(holdgate ` + completeName + ` -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _holdgate holdgate
`,
	"zsh": `#compdef holdgate
_holdgate() {
  local -a found
  found=("${(@f)$(holdgate ` + completeName + ` -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _holdgate holdgate
`,
	"fish": `complete -c holdgate -a '(holdgate ` + completeName + ` -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

// completionCommand prints the script of a shell.
func completionCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		UsageText: "holdgate completion fish > ~/.config/fish/completions/holdgate.fish",
		Usage:     "print what completes commands, flags, ids and agents in a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: "bash: put the line `source <(holdgate completion bash)` into ~/.bashrc. zsh: put the\n" +
			"line `source <(holdgate completion zsh)` into ~/.zshrc, after compinit.",
		Action: func(c *cli.Context) error {
			script, ok := completionScripts[c.Args().First()]
			if !ok || c.NArg() != 1 {
				return command.Usage("completion takes the name of a shell: bash, zsh or fish")
			}
			_, err := fmt.Fprint(e.Stdout, script)
			return err
		},
	}
}

// completeCommand prints what the last of some words may become, one a line.
func completeCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: completeName, Hidden: true,
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if len(words) == 0 {
				return nil
			}
			last := words[len(words)-1]
			for _, word := range e.completions(c, words[:len(words)-1], last) {
				if strings.HasPrefix(word, last) && holdgate.Visible(word) == word {
					if _, err := fmt.Fprintln(e.Stdout, word); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

// completions are the words that may follow others.
func (e *env) completions(c *cli.Context, before []string, last string) (list []string) {
	commands, flags, takes, path := c.App.Commands, globalFlags(), "", ""
	for i := 0; i < len(before); i++ {
		word := before[i]
		if word == "--" {
			return nil // what follows is another program's
		}
		if name, _, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "="); strings.HasPrefix(word, "-") {
			if takesValue(flags, name) && !hasValue {
				if i++; i == len(before) {
					return e.named(c, strings.ToUpper(name))
				}
			}
			continue
		}
		if cmd := find(commands, []string{word}); cmd != nil {
			commands, flags, takes, path = cmd.Subcommands, cmd.Flags, cmd.ArgsUsage, path+" "+cmd.Name
		}
	}
	if strings.HasPrefix(last, "-") {
		for _, f := range flags {
			if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
				list = append(list, "--"+f.Names()[0])
			}
		}
		return append(list, "--help")
	}
	if len(commands) > 0 {
		for _, cmd := range commands {
			if !cmd.Hidden && cmd.Name != "help" {
				list = append(list, cmd.Name)
			}
		}
		return list
	}
	switch path {
	case " grants revoke":
		takes = "GRANT"
	case " sessions show", " sessions set":
		takes = "SESSION"
	case " policy rollback":
		takes = ""
	case " completion":
		return []string{"bash", "zsh", "fish"}
	}
	return e.named(c, takes)
}

// completionPatience is how long a shell waits for the sidecar.
const completionPatience = time.Second

// named are the names of what is asked for: requests, grants, sessions or agents.
// Where no sidecar answers there are none.
func (e *env) named(c *cli.Context, what string) (list []string) {
	quiet := *e.Env
	quiet.Stderr = io.Discard
	sc, err := quiet.Sidecar(c)
	if err != nil {
		return nil
	}
	defer sc.Close()
	ctx, cancel := context.WithTimeout(c.Context, completionPatience)
	defer cancel()
	list = namesOf(ctx, sc, strings.Trim(strings.ReplaceAll(strings.Fields(what + " -")[0], ".", ""), "[]"))
	slices.Sort(list)
	return slices.Compact(list)
}

func namesOf(ctx context.Context, sc *client.Client, what string) (list []string) {
	switch what {
	case "ID":
		requests, _ := decide.Pending(ctx, sc, approvals.Filter{})
		for _, r := range requests {
			list = append(list, r.ID)
		}
	case "AGENT":
		agents, _ := sc.Agents(ctx)
		for _, a := range agents {
			list = append(list, a.ID)
		}
	case "SESSION":
		sessions, _ := sc.Sessions(ctx, "")
		for _, s := range sessions {
			list = append(list, s.ID)
		}
	case "GRANT":
		grants, _ := sc.Grants(ctx, "")
		for _, g := range grants {
			list = append(list, g.ID)
		}
	}
	return list
}
