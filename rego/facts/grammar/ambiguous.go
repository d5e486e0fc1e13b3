package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// ambiguous says what in the text the parser and a shell, or two shells, may
// read in different ways.
func (rd *reader) ambiguous(text string, file *syntax.File, comments []syntax.Comment) error {
	if i := strings.IndexAny(text, "\r\x00"); i >= 0 {
		return fmt.Errorf("a control character %q, which shells read differently", text[i])
	}
	for _, c := range comments {
		if err := commentStart(text, int(c.Pos().Offset())); err != nil {
			return err
		}
		if strings.HasSuffix(c.Text, "\\\n") {
			return errors.New("a comment that goes on after its line")
		}
	}
	if strings.Contains(text, "$$\\\n") {
		return errors.New("a continued line behind $$")
	}
	if tail := strings.TrimRight(text, `\`); (len(text)-len(tail))%2 == 1 {
		return errors.New("a backslash with nothing behind it")
	}
	var err error
	var raw *syntax.Word // a here-document in which nothing is expanded
	syntax.Walk(file, func(n syntax.Node) bool {
		rd.Tick()
		if w, ok := n.(*syntax.Word); err != nil || ok && w == raw {
			return false
		}
		if r, ok := n.(*syntax.Redirect); ok && r.Hdoc != nil && QuotedDelimiter(r.Word) {
			raw = r.Hdoc
		}
		if err = spelling(n); err != nil {
			return false
		}
		switch n := n.(type) {
		case *syntax.Stmt:
			if err = descriptors(text, n); err == nil && n.Background && strings.HasPrefix(text[n.Semicolon.Offset():], "&!") {
				err = errors.New("an &!, which is one operator to zsh")
			}
		case *syntax.CmdSubst:
			err = rd.substitutionEnd(text, n)
		case *syntax.Redirect:
			if err = rd.heredocEnd(text, n); err == nil && n.Hdoc != nil && !QuotedDelimiter(n.Word) {
				err = rd.joinedWithin(text, n.Hdoc)
			}
		case *syntax.ArrayExpr:
			if end := int(n.End().Offset()); end < len(text) && text[end] == '#' {
				err = errors.New("a # after an array")
			}
		case *syntax.FuncDecl:
			if n.Name == nil || n.Body == nil || !isCompound(n.Body.Cmd) {
				err = errors.New("a function that only zsh knows")
			}
		case *syntax.TimeClause:
			err = timed(n)
		case *syntax.ExtGlob:
			err = pattern(n)
		case *syntax.CallExpr:
			err = zshOnly(n)
		}
		return true
	})
	if err != nil {
		return err
	}
	return rd.readByDash(text, file)
}

func isCompound(c syntax.Command) bool {
	switch c.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.ArithmCmd, *syntax.TestClause:
		return true
	}
	return false
}

// statefulBuiltins change the shell that runs them.
var statefulBuiltins = strings.Fields("cd pushd popd set unset shift read mapfile readarray alias unalias trap shopt getopts hash enable")

// timed takes off what bash lets stand behind time before the command.
func timed(t *syntax.TimeClause) error {
	if t.Stmt == nil {
		return nil
	}
	cmd := t.Stmt.Cmd
	for {
		pipe, ok := cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		cmd = pipe.X.Cmd
	}
	c, ok := cmd.(*syntax.CallExpr)
	if _, declares := cmd.(*syntax.DeclClause); declares || ok && len(c.Args) > 0 && slices.Contains(statefulBuiltins, c.Args[0].Lit()) {
		return errors.New("a command after time that changes the shell: where time is a program it changes nothing")
	}
	if ok && len(c.Args) == 0 && len(c.Assigns) > 0 {
		return errors.New("an assignment alone after time: where time is a program nothing is assigned")
	}
	if !ok || len(c.Args) == 0 || len(c.Assigns) > 0 || c.Args[0].Lit() != "--" {
		return nil
	}
	for len(c.Args) > 1 && (c.Args[0].Lit() == "--" || c.Args[0].Lit() == "!") {
		c.Args = c.Args[1:]
	}
	if syntax.IsKeyword(c.Args[0].Lit()) || c.Args[0].Lit() == "!" {
		return errors.New("a reserved word after time --")
	}
	return nil
}

// pattern reports an extended pattern that zsh reads as qualifiers, which may
// be commands, or as commands: substituted ones.
func pattern(g *syntax.ExtGlob) error {
	text := g.Pattern.Value
	if !strings.Contains(text, "|") && g.Op != syntax.GlobExcept || strings.ContainsAny(text, "`$#") || !strings.Contains(text, "|") && strings.ContainsAny(text, "e+") &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.*?") != "" {
		return fmt.Errorf("a pattern that may run a command: %s", text)
	}
	return nil
}

// zshOnly reports a command whose first word zsh alone reads as a reserved
// word.
func zshOnly(c *syntax.CallExpr) error {
	if len(c.Args) == 0 {
		return nil
	}
	if _, ok := c.Args[0].Parts[0].(*syntax.ExtGlob); ok {
		return errors.New("a command that begins with a pattern in parentheses")
	}
	first, ok := c.Args[0].Parts[0].(*syntax.Lit)
	if !ok {
		return nil
	}
	word := c.Args[0].Lit()
	switch {
	case word == "time" && len(c.Assigns) > 0:
		return errors.New("an assignment before time, which is a reserved word to zsh")
	case word == "repeat" || word == "foreach" || word == "-":
		return fmt.Errorf("a command that only zsh knows: %s", word)
	case assignsToZsh(first.Value):
		return fmt.Errorf("an assignment to a name that only zsh knows: %s", first.Value)
	case strings.HasPrefix(first.Value, "{") && !bracesOnly(c.Args[0]):
		return fmt.Errorf("a command that begins with a brace: %s", first.Value)
	}
	return nil
}

// assignsToZsh reports whether a word begins with NAME= where the name has letters
// that no other shell allows in one.
func assignsToZsh(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	odd := func(r rune) bool { return r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return ok && strings.ContainsFunc(name, odd)
}

// bracesOnly reports whether a word is a brace expansion to zsh too. The library
// takes time by the square of the braces, so a word with many is none.
func bracesOnly(w *syntax.Word) bool {
	braces := 0
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			braces += strings.Count(lit.Value, "{")
		}
	}
	if braces > MaxBraces {
		return false
	}
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	if !syntax.SplitBraces(split) {
		return false
	}
	_, ok := split.Parts[0].(*syntax.BraceExp)
	return ok
}

// commentStart reports a comment whose # may be part of a word: a comment
// begins a line, or stands behind a blank or an operator.
func commentStart(text string, at int) error {
	before := text[:at]
	for strings.HasSuffix(before, "\\\n") {
		before = before[:len(before)-2]
		if before == "" || strings.HasSuffix(before, "\n") {
			return errors.New("a # after a continued line")
		}
	}
	if before == "" || strings.IndexByte(" \t\n;&|(`", before[len(before)-1]) >= 0 {
		return nil
	}
	return fmt.Errorf("a # after %q", before[len(before)-1])
}

// substitutionEnd reports a backquoted substitution with what ends at a line's
// end, where a backslash joins that line to the next in some shells only.
func (rd *reader) substitutionEnd(text string, c *syntax.CmdSubst) error {
	inside := text[c.Pos().Offset():c.End().Offset()]
	if c.Backquotes && strings.Contains(inside, "\\\n") && (strings.Contains(inside, "#") || strings.Contains(inside, "<<")) {
		return errors.New("a continued line in backquotes")
	}
	if c.Backquotes && bareBackquote(inside[1:len(inside)-1]) {
		return errors.New("a backquote in quotes in backquotes: it ends them")
	}
	var err error
	syntax.Walk(c, func(n syntax.Node) bool {
		rd.Tick()
		r, ok := n.(*syntax.Redirect)
		if ok && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) {
			after := text[r.Word.End().Offset():c.End().Offset()]
			if !strings.Contains(after, "\n") || r.Hdoc != nil && r.Hdoc.Pos().After(c.End()) {
				err = errors.New("a here-document that begins behind its substitution")
			}
		}
		return err == nil
	})
	return err
}

// bareBackquote reports whether a text holds a backquote without a backslash
// before it.
func bareBackquote(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			return true
		}
	}
	return false
}

// heredocEnd reports a here-document that shells may end elsewhere: it ends
// for certain at the first line that is the delimiter, where no backslash
// joins lines to it or from it.
func (rd *reader) heredocEnd(text string, r *syntax.Redirect) error {
	if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc {
		return nil
	}
	mistake := fmt.Errorf("a here-document whose end is not certain: %s", text[r.Pos().Offset():r.End().Offset()])
	delimiter, quoted, plain := delimiterOf(r.Word)
	if !plain {
		return mistake
	}
	if r.Hdoc == nil {
		return nil
	}
	body := text[r.Hdoc.Pos().Offset():]
	size := int(r.Hdoc.End().Offset() - r.Hdoc.Pos().Offset())
	joined := ""
	for at := 0; at < len(body); {
		rd.Tick()
		line, _, _ := strings.Cut(body[at:], "\n")
		bare := line
		if r.Op == syntax.DashHdoc {
			bare = strings.TrimLeft(line, "\t")
		}
		if bare == delimiter {
			if at+len(line) == size && joined == "" {
				return nil
			}
			return mistake
		}
		joined += strings.TrimLeft(strings.TrimRight(bare, `\`), "\t")
		continued := !quoted && strings.HasSuffix(line, `\`)
		if continued && strings.Trim(line, "\\\t") == "" || joined == delimiter {
			return mistake
		}
		if !continued {
			joined = ""
		} else if len(joined) > len(delimiter) {
			joined = joined[len(joined)-len(delimiter)-1:]
		}
		at += len(line) + 1
	}
	return mistake
}

// joinedWithin reports a substitution in a here-document with lines that a backslash
// joins: some shells join them in quotes too.
func (rd *reader) joinedWithin(text string, body *syntax.Word) (err error) {
	syntax.Walk(body, func(n syntax.Node) bool {
		rd.Tick()
		c, ok := n.(*syntax.CmdSubst)
		if ok && strings.Contains(text[c.Pos().Offset():c.End().Offset()], "\\\n") {
			err = errors.New("a continued line in a substitution in a here-document")
		}
		return err == nil
	})
	return err
}

// delimiterOf is the line that ends a here-document, and whether quotes in it
// keep the body as it is. It is plain where it is one word without expansions.
func delimiterOf(w *syntax.Word) (text string, quoted, plain bool) {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			value, _ := Unescape(p.Value)
			quoted = quoted || value != p.Value
			text += value
		case *syntax.SglQuoted:
			text, quoted = text+p.Value, true
			if p.Dollar {
				return "", false, false
			}
		case *syntax.DblQuoted:
			quoted = true
			if lit, ok := onlyLiteral(p); !ok || p.Dollar || strings.Contains(lit, `\`) {
				return "", false, false
			} else {
				text += lit
			}
		default:
			return "", false, false
		}
	}
	return text, quoted, text != "" && !strings.Contains(text, "\n")
}

func onlyLiteral(q *syntax.DblQuoted) (string, bool) {
	if len(q.Parts) == 0 {
		return "", true
	}
	lit, ok := q.Parts[0].(*syntax.Lit)
	if !ok || len(q.Parts) > 1 {
		return "", false
	}
	return lit.Value, true
}
