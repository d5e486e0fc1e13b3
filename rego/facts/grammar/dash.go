package grammar

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// readByDash reports a text in which dash, which knows less than bash, sees
// another command. What bash alone knows is written as dash reads it, and is
// parsed again: "$'" is a dollar and a quoted string without escapes, "&>" ends
// a command, "((" opens two subshells, "[[" is a command, "$[" is text.
func (rd *reader) readByDash(text string, file *syntax.File) error {
	type change struct {
		at    int
		write string
	}
	var changes []change
	arithmetic, tests := false, false
	syntax.Walk(file, func(n syntax.Node) bool {
		rd.Tick()
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if n.Dollar {
				changes = append(changes, change{int(n.Left.Offset()), `\`})
			}
		case *syntax.Redirect:
			if n.Op == syntax.RdrAll || n.Op == syntax.AppAll {
				changes = append(changes, change{int(n.OpPos.Offset()) + 1, " "})
			}
		case *syntax.ArithmCmd:
			arithmetic = true
			changes = append(changes, change{int(n.Left.Offset()) + 1, " "})
		case *syntax.TestClause:
			tests = true
			changes = append(changes, change{int(n.Left.Offset()), `\`})
		case *syntax.ArithmExp:
			if n.Bracket {
				changes = append(changes, change{int(n.Left.Offset()), `\`})
			}
		}
		return true
	})
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, func(a, b change) int { return a.at - b.at })
	var sb strings.Builder
	done := 0
	for _, c := range changes {
		sb.WriteString(text[done:c.at] + c.write)
		done = c.at
	}
	written := sb.String() + text[done:]
	rd.Work(len(text) / 256)
	known, variables := rd.plainCommands(file.Stmts), variablesOf(file)
	for command := range rd.plainCommands(rd.beforeMistake(written)) {
		word, _, _ := strings.Cut(command, "\x00")
		if known[command] || word == "" || word == "[[" || word[0] == '-' || word[0] == '$' && (arithmetic || tests || word != "$") || arithmetic && rd.onlyNumber(word, variables) {
			continue
		}
		return fmt.Errorf("another shell reads a command here: %s", word)
	}
	return nil
}

// plainCommands are the commands in statements, and in what is nested in them,
// as far as their words are plain text, each with a NUL at its end. All words
// with a dollar count as the same: a dollar that dash leaves as it is makes them
// another text, and no option.
func (rd *reader) plainCommands(stmts []*syntax.Stmt) map[string]bool {
	commands := make(map[string]bool)
	for _, st := range stmts {
		syntax.Walk(st, func(n syntax.Node) bool {
			rd.Tick()
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				var sb strings.Builder
				for _, w := range c.Args {
					text := plainText(w)
					if strings.Contains(text, "$") {
						text = "$"
					}
					sb.WriteString(text + "\x00")
				}
				commands[sb.String()] = true
			}
			return true
		})
	}
	return commands
}

// plainText is a word without its quotes; what is expanded in it is "$".
func plainText(w *syntax.Word) string {
	var sb strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text, _ := Unescape(p.Value)
			sb.WriteString(text)
		case *syntax.SglQuoted:
			if p.Dollar {
				sb.WriteString("$")
			}
			sb.WriteString(p.Value)
		case *syntax.DblQuoted:
			if lit, ok := onlyLiteral(p); ok && !p.Dollar {
				sb.WriteString(lit)
			} else {
				sb.WriteString("$")
			}
		default:
			sb.WriteString("$")
		}
	}
	return sb.String()
}

// onlyNumber reports whether the first word of what bash reads as arithmetic
// can be no program: it is a number, a single letter, not a name at all, or a
// variable of the text and none of the programs that are known.
func (rd *reader) onlyNumber(name string, variables map[string]bool) bool {
	if !IsVariable(name) {
		return !strings.Contains(name, "/")
	}
	return !rd.known(name) && (len(name) == 1 || variables[name])
}

// variablesOf are the variables that a text names.
func variablesOf(file *syntax.File) map[string]bool {
	names := make(map[string]bool)
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				names[n.Name.Value] = true
			}
		case *syntax.WordIter:
			names[n.Name.Value] = true
		case *syntax.ParamExp:
			if n.Param != nil {
				names[n.Param.Value] = true
			}
		case *syntax.CallExpr:
			if len(n.Args) > 0 && wordlist.Has("read mapfile readarray getopts", n.Args[0].Lit()) {
				for _, w := range n.Args[1:] {
					names[w.Lit()] = true
				}
			}
		}
		return true
	})
	return names
}
