package differential

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

// read is what the package under test says of a script.
func read(t testing.TB, script string) facts.Facts {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": script})
	if err != nil {
		t.Fatal(err)
	}
	call := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: args}}
	return facts.Extract(context.Background(), call, facts.Options{Dir: "/w", Home: "/w", Deadline: time.Minute})
}

// missed are the programs that a shell ran and that are in no fact: none where
// the script is held.
func missed(shell int, script string, f facts.Facts, programs [][]string) [][]string {
	if held(f) {
		return nil
	}
	var out [][]string
	for _, argv := range programs {
		if shells[shell].name == "zsh" && len(argv) == 1 && argv[0] == "cat" {
			continue // a redirection alone copies there: its file is a fact
		}
		if !slices.ContainsFunc(f.Commands, func(c facts.Command) bool { return accounts(shells[shell].name, script, c, argv) }) {
			out = append(out, argv)
		}
	}
	return out
}

// maybe reports whether a program may have been run by the named shell.
func maybe(shell, script, name string) bool {
	return shell == name || strings.Contains(script, name) || name == "dash" && strings.Contains(script, "sh")
}

// held reports whether people are asked about the whole script: also where a function
// calls itself, or another of its name.
func held(f facts.Facts) bool {
	again := func(u string) bool { return strings.HasSuffix(u, " calls itself") }
	return len(f.ParseErrors) > 0 || slices.ContainsFunc(f.Commands, func(c facts.Command) bool { return slices.ContainsFunc(c.Unresolved, again) })
}

// startsFiles are the commands that run what nobody was shown, where a fact
// says so.
var startsFiles = strings.Fields(". source sh bash dash zsh hash enable")

// evaluates is what a fact calls unresolved because it may run commands that
// stand in a variable: a subscript, arithmetic, a prompt.
var evaluates = regexp.MustCompile(`\[|\(\(|@P|\(e\)|\(%\)`)

// accounts reports whether a fact tells of a program that ran.
func accounts(shell, script string, c facts.Command, argv []string) bool {
	unknown := len(c.Unresolved) > 0
	switch {
	case unknown && c.Program == "":
		return true
	case len(c.Unbound) > 0 && slices.Contains(startsFiles, c.Program):
		return true
	case slices.ContainsFunc(c.Unresolved, evaluates.MatchString):
		return true
	case unknown && slices.Contains(strings.Fields("sh bash dash zsh eval"), c.Program):
		return true
	case len(c.Argv) == 0 || !word(shell, script, path.Base(c.Argv[0]), argv[0]):
		return false
	}
	if len(argv) == 1 && slices.Contains(c.Via, "time") && slices.Contains(c.Via, "xargs") {
		return true // where time is no reserved word it fails, and xargs is given nothing
	}
	return unknown || words(shell, script, c.Argv[1:], argv[1:])
}

// words reports whether the words of a fact are the arguments of a program.
// Where one shell leaves a word whole that the other takes apart, and no text
// of the line becomes an option or a command by it, both count:
//   - dash knows no {a,b}: it stands for itself;
//   - zsh does not split what an unquoted expansion yields.
func words(shell, script string, fact, argv []string) bool {
	switch {
	case match(shell, script, fact, argv):
		return true
	case strings.Contains(script, "{"): // an empty word of braces is one to zsh
		empty := func(s string) bool { return s == "" }
		if match(shell, script, slices.DeleteFunc(slices.Clone(fact), empty), slices.DeleteFunc(slices.Clone(argv), empty)) {
			return true
		}
	}
	if maybe(shell, script, "dash") && strings.Contains(script, "{$") { // no braces: their text is that of the first and the last word
		plain := func(words []string) []string {
			return strings.FieldsFunc(strings.Join(words, " "), func(r rune) bool { return strings.ContainsRune(" {,}", r) })
		}
		if match(shell, script, plain(fact), plain(argv)) {
			return true
		}
	}
	if maybe(shell, script, "zsh") && strings.Contains(script, "$") {
		split := func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(":,", r) && strings.Contains(script, "IFS")
		}
		return match(shell, script, strings.FieldsFunc(strings.Join(fact, " "), split), strings.FieldsFunc(strings.Join(argv, " "), split))
	}
	return false
}

func match(shell, script string, fact, argv []string) bool {
	if maybe(shell, script, "dash") && len(argv) > 0 && descriptor.MatchString(argv[0]) {
		return match(shell, script, fact, argv[1:]) || len(fact) > 0 && fact[0] == argv[0] && match(shell, script, fact[1:], argv[1:])
	}
	if maybe(shell, script, "dash") && len(argv) > 0 && braces.MatchString(argv[0]) {
		for n := range len(fact) + 1 {
			if match(shell, script, fact[n:], argv[1:]) {
				return true
			}
		}
	}
	if len(fact) == 0 {
		return len(argv) == 0
	}
	if sequences.MatchString(fact[0]) && len(argv) > 0 {
		return match(shell, script, fact, argv[1:]) || match(shell, script, fact[1:], argv[1:])
	}
	if (numbers.FindString(fact[0]) == fact[0] || strings.HasSuffix(fact[0], "()")) && match(shell, script, fact[1:], argv) {
		return true // nothing was in it
	}
	if len(argv) > 0 && word(shell, script, fact[0], argv[0]) && match(shell, script, fact[1:], argv[1:]) {
		return true
	}
	if !strings.ContainsAny(fact[0], "*?[") && !extended.MatchString(fact[0]) {
		return false
	}
	for n := 0; n <= len(argv); n++ { // the names that a pattern stands for, if there are any
		if match(shell, script, fact[1:], argv[n:]) {
			return true
		}
		if n == len(argv) {
			break
		}
		if extended.MatchString(fact[0]) {
			continue
		}
		if ok, err := path.Match(strings.ReplaceAll(fact[0], "[!", "[^"), argv[n]); err == nil && !ok {
			break
		}
	}
	return false
}

// numbers are the parts of a fact's words that facts leave as they are written,
// because all that they can be is a number, or nothing.
var numbers = regexp.MustCompile(`(?s)\$\(\(.*\)\)|\$\[[^]]*\]|\$\{#?([a-zA-Z_]\w*|[#?$!])(\[[0-9@*]*\])?\}|\$([a-zA-Z_]\w*|[#?$!])`)

// pipes are the words that begin with what becomes the name of a pipe. An empty
// one is nothing in bash.
var pipes = regexp.MustCompile(`(?s)^[<>=]\(.*\)`)

// piped reports whether a fact's word has become an argument by the name of a pipe.
func piped(fact, arg string) bool {
	pipe := pipes.FindString(fact)
	rest := fact[len(pipe):]
	return pipe != "" && (strings.HasPrefix(arg, "/") && strings.HasSuffix(arg, rest) || pipe == "<()" && arg == rest)
}

func word(shell, script, fact, arg string) bool {
	switch {
	case fact == arg, fact == "~" && arg == "/w", piped(fact, arg):
		return true
	case shell == "bash" && strings.Contains(fact, "=~") && strings.Replace(fact, "=~", "=/w", 1) == arg:
		return true
	case strings.HasPrefix(fact, "~/") && arg == "/w"+fact[1:]:
		return true
	case (maybe(shell, script, "dash") || shell == "zsh") && strings.Contains(arg, "$") && strings.ContainsAny(script, `'"`) &&
		(strings.Contains(script, "$'") || strings.Contains(script, `$"`)):
		return true // $'...' and $"...": the dollar stands for itself
	case strings.Contains(script, "\\`") && strings.Contains(fact, "$"):
		return true // within nested backquotes words are written with their backslashes
	case !strings.Contains(fact, "$"):
		return false
	}
	fact = strings.ReplaceAll(strings.ReplaceAll(fact, "$HOME", "/w"), "$PWD", "/w")
	pattern, rest := "^", 0
	for _, at := range numbers.FindAllStringIndex(fact, -1) {
		pattern += regexp.QuoteMeta(fact[rest:at[0]]) + "-?[0-9]*"
		rest = at[1]
	}
	ok, err := regexp.MatchString(pattern+regexp.QuoteMeta(fact[rest:])+"$", arg)
	return ok && err == nil
}

// extended patterns are none of path.Match's, and no pattern at all to dash.
var extended = regexp.MustCompile(`[*?+@!]\(`)

// descriptor is where bash keeps the number of a file that it opens; to dash it is a word.
var descriptor = regexp.MustCompile(`^\{\w+\}$`)

// sequences make more words than facts write down.
var sequences = regexp.MustCompile(`^\{-?[0-9]+\.\.-?[0-9]+(\.\.-?[0-9]+)?\}$`)

// braces are what bash expands and dash leaves as it is.
var braces = regexp.MustCompile(`\{.*(,|\.\.).*\}`)
