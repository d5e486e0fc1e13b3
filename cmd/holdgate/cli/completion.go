package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/decide"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/proxy/hook"
)

// completeName is the command that the shells' scripts ask.
const completeName = "__complete"

// exitFiles is its exit code where the name of a file or of a program is wanted, which
// the shells know better.
const exitFiles = 7

// completionScripts make a shell ask what may stand where the cursor is.
var completionScripts = map[string]string{
	"bash": `_holdgate() {
  local IFS=$'\n' found
  found=$(holdgate ` + completeName + ` -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $? == 7 ]]; then
    compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    return
  fi
  COMPREPLY=($found)
}
complete -F _holdgate holdgate
`,
	"zsh": `#compdef holdgate
_holdgate() {
  local found
  found=$(holdgate ` + completeName + ` -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if [[ $? == 7 ]]; then _files; elif [[ -n $found ]]; then compadd -- "${(@f)found}"; fi
}
compdef _holdgate holdgate
`,
	"fish": `function __holdgate_complete
  set -l found (holdgate ` + completeName + ` -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
  if test $status -eq 7
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $found
  end
end
complete -c holdgate -f -a '(__holdgate_complete)'
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
			before, last, prefix := joined(words)
			list, files := e.completions(c, before, last)
			if files {
				return &command.Exit{Code: exitFiles}
			}
			for _, word := range list {
				if strings.HasPrefix(word, last) && plain.MatchString(word) {
					if _, err := fmt.Fprintln(e.Stdout, prefix+word); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

// plain is a word that a shell takes as it stands: agents choose names, and what is
// completed stands on a person's command line.
var plain = regexp.MustCompile(`^[A-Za-z0-9_.:/@%+,=-]+$`)

// joined are the words before the cursor and the one at it, with flags that a shell has cut
// from their values at "=". The prefix is what the shell takes for part of the last word.
func joined(words []string) (before []string, last, prefix string) {
	for i := 0; i < len(words); i++ {
		flag := len(before) > 0 && strings.HasPrefix(before[len(before)-1], "--") && !strings.Contains(before[len(before)-1], "=")
		switch {
		case words[i] == "=" && flag && i+2 < len(words):
			i++
			before[len(before)-1] += "=" + words[i]
		case words[i] == "=" && flag && i+2 == len(words):
		case words[i] == "=" && flag:
			before = append(before, "")
		default:
			before = append(before, words[i])
		}
	}
	before, last = before[:len(before)-1], before[len(before)-1]
	if flag, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(flag, "--") {
		return append(before, flag), value, flag + "="
	}
	return before, last, ""
}

// completions are the words that may follow others, or say that it is a file or a program.
func (e *env) completions(c *cli.Context, before []string, last string) (list []string, files bool) {
	commands, flags, takes, path := c.App.Commands, globalFlags(), "", ""
	var args []string
	for i := 0; i < len(before); i++ {
		word := before[i]
		if word == "--" {
			return nil, true // what follows is another program's
		}
		if name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "="); strings.HasPrefix(word, "-") {
			if takesValue(flags, name) && !hasValue {
				if i++; i == len(before) {
					return e.named(c, strings.ToUpper(name))
				}
				value = before[i]
			}
			if find := func(f cli.Flag) bool { return f.Names()[0] == name }; slices.ContainsFunc(globalFlags(), find) {
				if err := c.Set(name, e.unquoted(value)); err != nil {
					return nil, false
				}
			}
			continue
		}
		if cmd := find(commands, []string{word}); cmd != nil && len(args) == 0 {
			commands, flags, takes, path = cmd.Subcommands, cmd.Flags, cmd.ArgsUsage, path+" "+cmd.Name
			continue
		}
		args = append(args, word)
	}
	if strings.HasPrefix(last, "-") {
		for _, f := range flags {
			if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
				list = append(list, "--"+f.Names()[0])
			}
		}
		return append(list, "--help"), false
	}
	if len(args) == 0 {
		for _, cmd := range commands {
			if !cmd.Hidden && cmd.Name != "help" {
				list = append(list, cmd.Name)
			}
		}
	}
	switch path {
	case " hook", " hook run":
		return append(list, hookWords(path, args)...), false
	case " doctor":
		return launch.Known(), false
	case " plugin check", " plugin send":
		takes = "CHANNEL"
	case " grants revoke":
		takes = "GRANT"
	case " sessions show", " sessions set":
		takes = "SESSION"
	case " policy rollback":
		takes = ""
	case " completion":
		return []string{"bash", "zsh", "fish"}, false
	}
	if len(list) > 0 {
		return list, false
	}
	return e.named(c, takes)
}

// hookWords are those of "hook AGENT install|uninstall|status" and "hook run AGENT".
func hookWords(path string, args []string) []string {
	switch {
	case len(args) == 0:
		return hook.Names()
	case len(args) == 1 && path == " hook":
		return []string{"install", "uninstall", "status"}
	}
	return nil
}

// unquoted is a word as a shell would hand it to the program: a shell shows it to
// completions as it was typed.
func (e *env) unquoted(word string) string {
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		return filepath.Join(e.Getenv("HOME"), rest)
	}
	if n := len(word); n > 1 && (word[0] == '"' || word[0] == '\'') && word[n-1] == word[0] {
		return word[1 : n-1]
	}
	return strings.ReplaceAll(word, `\ `, " ")
}

// completionPatience is how long a shell waits for the sidecar.
const completionPatience = time.Second

// named are the names of what is asked for: requests, grants, sessions or agents.
// Where no sidecar answers there are none. All else are files, where it is not a word of
// the person's own.
func (e *env) named(c *cli.Context, what string) (list []string, files bool) {
	what = strings.Trim(strings.ReplaceAll(strings.Fields(what + " -")[0], ".", ""), "[]")
	if !slices.Contains([]string{"ID", "AGENT", "SESSION", "GRANT", "CHANNEL"}, what) {
		return nil, wantsFile.MatchString(what)
	}
	quiet := *e.Env
	quiet.Stderr = io.Discard
	sc, err := quiet.Sidecar(c)
	if err != nil {
		return nil, false
	}
	defer sc.Close()
	ctx, cancel := context.WithTimeout(c.Context, completionPatience)
	defer cancel()
	list = namesOf(ctx, sc, what)
	slices.Sort(list)
	return slices.Compact(list), false
}

// wantsFile is an argument, or a flag, that names a file or a folder.
var wantsFile = regexp.MustCompile(`(?i)^--$|file|folder|path|json|^(config|policy|state-dir|bundle|export|key|input|arguments|cwd|artifact)$`)

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
	case "CHANNEL":
		channels, _ := sc.Plugins(ctx)
		for _, p := range channels {
			list = append(list, p.Name)
		}
	case "GRANT":
		grants, _ := sc.Grants(ctx, "")
		for _, g := range grants {
			list = append(list, g.ID)
		}
	}
	return list
}
