package grammar

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// Spellings within words that shells read differently, and that ordinary lines
// do without.

// spelling reports such a spelling in a node.
func spelling(n syntax.Node) error {
	switch n := n.(type) {
	case *syntax.SglQuoted:
		if n.Dollar {
			return escapes(n.Value)
		}
	case *syntax.Word:
		return wordSpelling(n)
	case *syntax.ArithmExp:
		if n.Bracket {
			return errors.New("arithmetic in $[...], which dash takes for text")
		}
	case *syntax.DblQuoted:
		if n.Dollar {
			return errors.New(`a $"...", of which some shells keep the dollar`)
		}
		if err := quotesWithin(n); err != nil {
			return err
		}
		return partsSpelling(n.Parts)
	case *syntax.Redirect:
		return redirection(n)
	}
	return nil
}

// escapes reports an escape of $'...' that shells decode differently.
func escapes(text string) error {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		rest := text[i:]
		switch {
		case rest == "":
		case strings.IndexByte(`\'"abefnrtvE`, rest[0]) >= 0:
			continue
		case plainEscape.MatchString(rest) && !nulEscape.MatchString(rest):
			continue
		}
		return fmt.Errorf(`an escape that shells read differently: \%.4s`, rest)
	}
	return nil
}

var (
	plainEscape = lazyregexp.New(`^(x[0-9a-fA-F]{2}|[0-7]{3}|u00[0-7][0-9a-fA-F]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`)
	nulEscape   = lazyregexp.New(`^(x00|000|u0000|U0{8})`)
)

// zshFlags is a dollar with a flag of zsh behind it.
var zshFlags = lazyregexp.New(`(^|[^\\])(\\\\)*\$([=~^+]|[^\x00-\x7f])`)

// flagged reports such a dollar in literals that stand side by side.
func flagged(parts []syntax.WordPart) error {
	text := ""
	for _, p := range parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			text = ""
			continue
		}
		if text += lit.Value; zshFlags.MatchString(text) {
			return fmt.Errorf("a dollar that zsh reads differently: %s", text)
		}
	}
	return nil
}

// unevenSequence is what looks like a sequence in braces and is none to bash.
var unevenSequence = lazyregexp.New(`\{[^{},]*\.\.[^{},]*\}`)

var evenSequence = lazyregexp.New(`^\{(-?[0-9]+\.\.-?[0-9]+|[a-zA-Z]\.\.[a-zA-Z])(\.\.-?[0-9]+)?\}$`)

func wordSpelling(w *syntax.Word) error {
	if len(w.Parts) == 0 {
		return nil
	}
	if first, ok := w.Parts[0].(*syntax.Lit); ok && len(first.Value) > 1 && first.Value[0] == '=' && isNameByte(first.Value[1]) {
		return fmt.Errorf("a word that zsh takes for the path of a program: %s", first.Value)
	}
	if last, ok := w.Parts[len(w.Parts)-1].(*syntax.Lit); ok && strings.HasSuffix(last.Value, "}") && !strings.HasSuffix(last.Value, `\}`) &&
		strings.Count(last.Value, "}") > strings.Count(last.Value, "{") && (len(w.Parts) == 1 || !openBrace(w.Parts)) {
		return fmt.Errorf("a brace that ends a group in zsh: %s", last.Value)
	}
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		for _, found := range unevenSequence.FindAllString(lit.Value, -1) {
			if !evenSequence.MatchString(found) {
				return fmt.Errorf("braces that zsh reads differently: %s", found)
			}
		}
	}
	return partsSpelling(w.Parts)
}

// openBrace reports whether a part before the last opens a brace.
func openBrace(parts []syntax.WordPart) bool {
	for _, p := range parts[:len(parts)-1] {
		if lit, ok := p.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") {
			return true
		}
	}
	return false
}

// partsSpelling reports $# before a name, of which zsh takes the length, and a
// digit before others, which zsh reads as one number.
func partsSpelling(parts []syntax.WordPart) error {
	if err := flagged(parts); err != nil {
		return err
	}
	for i, p := range parts {
		short, ok := p.(*syntax.ParamExp)
		if !ok || !short.Short || i+1 == len(parts) {
			continue
		}
		lit, ok := parts[i+1].(*syntax.Lit)
		if !ok || lit.Value == "" {
			continue
		}
		name := short.Param.Value
		switch {
		case isDigit(name[0]) && isDigit(lit.Value[0]):
			return fmt.Errorf("a number that zsh reads whole: $%s%s", name, lit.Value)
		case strings.Trim(lit.Value, `\`) == "" && len(lit.Value)%2 == 1 && i+2 == len(parts):
			return fmt.Errorf(`a continued line behind $%s`, name)
		case name == "#" && (isNameByte(lit.Value[0]) || strings.IndexByte("[@*", lit.Value[0]) >= 0):
			return fmt.Errorf("a length that only zsh knows: $#%s", lit.Value)
		}
	}
	return nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameByte(c byte) bool {
	return c == '_' || c == '.' || c == '/' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// redirection reports a target that begins with an exclamation mark, which zsh
// takes for a part of the operator.
func redirection(r *syntax.Redirect) error {
	if lit, ok := r.Word.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "!") && r.Op != syntax.WordHdoc {
		return errors.New("a redirection to a name that begins with an exclamation mark")
	}
	return nil
}

// descriptors reports a number of more than one digit before a redirection of
// a program with arguments: dash and zsh take it for one of them. Shells
// themselves, and exec, do not mind a number. Before &> it is an argument to bash
// alone, and where only assignments stand there dash makes them in the background.
func descriptors(text string, st *syntax.Stmt) error {
	call, ok := st.Cmd.(*syntax.CallExpr)
	for _, r := range st.Redirs {
		at := int(r.OpPos.Offset())
		if r.Op != syntax.RdrAll && r.Op != syntax.AppAll {
			continue
		}
		if at > 0 && isDigit(text[at-1]) || ok && len(call.Args) == 0 {
			return errors.New("a &> that shells read differently")
		}
	}
	if !ok && st.Cmd != nil || ok && len(call.Args) == 0 || ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec" {
		return nil
	}
	for _, r := range st.Redirs {
		if r.N != nil && len(r.N.Value) > 1 && r.N.Value[0] != '{' {
			return fmt.Errorf("a descriptor that only bash knows: %s", r.N.Value)
		}
	}
	return nil
}

// quotesWithin reports a single quote in an expansion in double quotes: it
// quotes a brace in some shells only.
func quotesWithin(q *syntax.DblQuoted) error {
	var err error
	for _, p := range q.Parts {
		e, ok := p.(*syntax.ParamExp)
		if !ok {
			continue
		}
		syntax.Walk(e, func(n syntax.Node) bool {
			if s, ok := n.(*syntax.SglQuoted); ok && strings.ContainsAny(s.Value, "}\"\\$`") {
				err = errors.New("single quotes in an expansion in double quotes")
			}
			_, nested := n.(*syntax.CmdSubst)
			return !nested
		})
	}
	return err
}
