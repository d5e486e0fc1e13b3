package cli

import (
	"flag"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// interspersed moves the flags of a command before its arguments, so that
// "deny ID --reason no" means what it says: the flag parser stops at the first
// argument and would take the rest for arguments too. What follows "--" stays
// as it is. A flag whose value is missing ends the line, for the parser to name. Where help
// is asked for the arguments go: the parser would look for help on the first of them.
func interspersed(app *cli.App, args []string) []string {
	if len(args) == 0 {
		return args
	}
	out, rest := args[:1:1], args[1:]
	flags, list, takes := app.Flags, app.Commands, false
	for len(list) > 0 {
		n, whole, _ := leadingFlags(flags, rest)
		out, rest = append(out, rest[:n]...), rest[n:]
		if !whole {
			return out
		}
		cmd := find(list, rest)
		if cmd == nil && takes {
			break
		}
		if cmd == nil {
			return append(out, rest...)
		}
		out, rest = append(out, rest[0]), rest[1:]
		flags, list, takes = cmd.Flags, cmd.Subcommands, cmd.ArgsUsage != "" // a group may take arguments itself
		if lists(cmd, rest) {
			rest = slices.Insert(slices.Clone(rest), 0, listName)
		}
	}
	var words []string
	helps := false
	for len(rest) > 0 {
		if rest[0] == "--" {
			words = append(words, rest[1:]...)
			break
		}
		n, whole, help := leadingFlags(flags, rest)
		helps = helps || help
		out, rest = append(out, rest[:n]...), rest[n:]
		if !whole {
			return out
		}
		if n > 0 {
			continue
		}
		words, rest = append(words, rest[0]), rest[1:]
	}
	if helps {
		words = nil
	}
	return append(append(out, "--"), words...)
}

// listName is the subcommand that a group with one runs where none is named.
const listName = "list"

// lists reports whether the words after a group name none of its commands, and list
// what it has: there are none, or the next one is a flag of the list's.
func lists(group *cli.Command, words []string) bool {
	if find(group.Subcommands, []string{listName}) == nil {
		return false
	}
	for len(words) > 0 {
		name, _, hasValue := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
		flag := strings.HasPrefix(words[0], "-")
		if !flag || !slices.ContainsFunc(group.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
			return flag && name != "h" && name != "help"
		}
		n := 1
		if takesValue(group.Flags, name) && !hasValue {
			n = 2
		}
		words = words[min(n, len(words)):]
	}
	return true
}

// find returns the command that the first word names.
func find(list []*cli.Command, words []string) *cli.Command {
	if len(words) == 0 {
		return nil
	}
	for _, c := range list {
		if c.HasName(words[0]) {
			return c
		}
	}
	return nil
}

// leadingFlags counts the words at the beginning that are flags and their
// values. Whole is false where the last flag's value is missing, and help is true where
// one asks for help.
func leadingFlags(flags []cli.Flag, words []string) (n int, whole, help bool) {
	for n < len(words) && len(words[n]) > 1 && words[n][0] == '-' && words[n] != "--" {
		name, _, hasValue := strings.Cut(strings.TrimLeft(words[n], "-"), "=")
		n++
		help = help || name == "h" || name == "help"
		if !takesValue(flags, name) || hasValue {
			continue
		}
		if n == len(words) {
			return n, false, help
		}
		n++
	}
	return n, true, help
}

// takesValue reports whether the flag of this name is followed by a value.
func takesValue(flags []cli.Flag, name string) bool {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, f := range flags {
		if err := f.Apply(set); err != nil {
			return false
		}
	}
	f := set.Lookup(name)
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}
