// Package named reads the languages whose programs are judged by the names in them,
// token by token: Ruby, PHP, Lua, Java, Rust, Zig, R and Go.
package named

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// A wordReader goes through a small program of Lua, PHP, Ruby, Java and others token by token. It
// knows texts, comments, names and marks, and no grammar: each name must be one
// that its language's list allows, and what could be read as two things is an error.
type wordReader struct {
	code    string
	at      int
	tokens  []wordToken
	effects outcome.Effects
	texts   []string            // those in double quotes
	listed  map[string][]string // variables that hold names of files, with the patterns of their listings

	constant  map[int]bool      // where a variable is given the name of a file, and nowhere else
	constants map[string]string // such variables
}

// A wordToken is a name, a variable, a text without its quotes, a number, or a mark.
type wordToken struct {
	kind byte // 'n' name, 'v' variable, 's' text, 'c' letter in quotes, '0' number, or the mark itself
	text string
	gap  bool // white space stands before it
	line bool // it begins a line
}

// wordRules say how a language writes its tokens.
type wordRules struct {
	comment  *lazyregexp.Regexp // up to the end of a line
	variable *lazyregexp.Regexp
	name     *lazyregexp.Regexp
	refused  *lazyregexp.Regexp // what is not read, where a token begins
	holds    func(text string) error
	raw      bool                                                                                        // texts in single quotes hold nothing
	blocks   bool                                                                                        // comments stand between /* and */, and in none other
	letter   *lazyregexp.Regexp                                                                          // one letter in single quotes
	inserts  bool                                                                                        // code stands in texts in double quotes, as #{code}
	token    func(r *wordReader, rest string, gap, line bool) (kind byte, text string, n int, err error) // others, where n is not 0
}

var wordNumber = lazyregexp.New(`^(0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?)`)

// lex takes a program apart.
func (r *wordReader) lex(rules wordRules) error {
	gap, line := true, true
	add := func(kind byte, text string, n int) {
		r.tokens = append(r.tokens, wordToken{kind, text, gap, line})
		r.at += n
		gap, line = false, false
	}
	for r.at < len(r.code) {
		rest, c := r.code[r.at:], r.code[r.at]
		if rules.token != nil && c > ' ' {
			kind, text, n, err := rules.token(r, rest, gap, line)
			if err != nil {
				return err
			}
			if n > 0 {
				add(kind, text, n)
				continue
			}
		}
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			r.at++
			gap, line = true, line || c == '\n'
		case c < ' ' || c > '~':
			return fmt.Errorf("a character that is not read")
		case rules.blocks && strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 || strings.Contains(rest[2:2+end], "/*") {
				return fmt.Errorf("a comment that is not closed")
			}
			r.at += end + 4
			gap = true
		case rules.comment.MatchString(rest):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				return nil
			}
			r.at += end
		case rules.refused.MatchString(rest):
			return fmt.Errorf("%.2q is not read", rest[:min(2, len(rest))])
		case rules.letter != nil && rules.letter.MatchString(rest):
			l := rules.letter.FindString(rest)
			add('c', l, len(l))
		case c == '\'' && rules.letter != nil:
			return fmt.Errorf("a quote that is no letter's")
		case c == '"' || c == '\'':
			quoted := quotedWord
			if rules.inserts && c == '"' {
				quoted = insertedWord
			}
			text, n, err := quoted(rest)
			if err != nil {
				return err
			}
			if rules.letter != nil && strings.Contains(text, "\n") {
				return fmt.Errorf("a text over two lines")
			}
			if rules.holds != nil && !(rules.raw && c == '\'') {
				if err := rules.holds(text); err != nil {
					return err
				}
			}
			if c == '"' {
				r.texts = append(r.texts, text)
			}
			add('s', text, n)
		case rules.variable != nil && rules.variable.MatchString(rest):
			v := rules.variable.FindString(rest)
			add('v', v, len(v))
		case rules.name.MatchString(rest):
			n := rules.name.FindString(rest)
			add('n', n, len(n))
		case wordNumber.MatchString(rest):
			n := wordNumber.FindString(rest)
			add('0', n, len(n))
		default:
			add(c, string(c), 1)
		}
	}
	return nil
}

// quotedWord is the text in quotes at the beginning of code, as it is written.
func quotedWord(code string) (text string, n int, err error) {
	for i := 1; i < len(code); i++ {
		switch code[i] {
		case '\\':
			i++
		case code[0]:
			return code[1:i], i + 1, nil
		}
	}
	return "", 0, fmt.Errorf("a text that is not closed")
}

// tok is the token at i, or an empty one.
func (r *wordReader) tok(i int) wordToken {
	if i < 0 || i >= len(r.tokens) {
		return wordToken{}
	}
	return r.tokens[i]
}

// file notes that a file is read or written whose name is the text at i.
func (r *wordReader) file(i int, write bool) error {
	t := r.tok(i)
	if end := r.tok(i + 1).kind; t.kind != 's' || t.text == "" || strings.ContainsAny(t.text, "\\#{}$|") || strings.Contains(t.text, "://") || end != ')' && end != ',' {
		return fmt.Errorf("a file that is not known")
	}
	if write {
		r.effects.Writes = append(r.effects.Writes, outcome.Place{Path: t.text})
	} else {
		r.effects.Reads = append(r.effects.Reads, outcome.Place{Path: t.text})
	}
	return nil
}

func among(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

var luaRules = wordRules{
	comment: lazyregexp.New(`^--([^\[]|$)`),
	name:    lazyregexp.New(`^[A-Za-z_]\w*`),
	refused: lazyregexp.New(`^(--\[|\[=*\[|::|\\)`),
}

// luaReach are the names by which a program of Lua reaches out of itself. It has no
// others: what is not defined is nil.
const luaReach = "load loadstring loadfile dofile require debug package _G _ENV getfenv setfenv newproxy module jit ffi arg rawget rawset"

// Lua tells what a program of Lua does.
func Lua(code string) (outcome.Effects, error) {
	r := &wordReader{code: code}
	if err := r.lex(luaRules); err != nil {
		return outcome.Effects{}, err
	}
	for i, t := range r.tokens {
		switch {
		case t.kind != 'n':
		case among(luaReach, t.text):
			return outcome.Effects{}, fmt.Errorf("the name %s", t.text)
		case t.text == "os":
			if r.tok(i+1).kind != '.' || !among("time date clock difftime exit", r.tok(i+2).text) {
				return outcome.Effects{}, fmt.Errorf("the name os")
			}
		case t.text == "io":
			if err := r.luaFile(i); err != nil {
				return outcome.Effects{}, err
			}
		}
	}
	return r.effects, nil
}

func (r *wordReader) luaFile(i int) error {
	what := r.tok(i + 2).text
	switch {
	case r.tok(i+1).kind != '.':
	case among("read write stdout stderr stdin", what):
		return nil
	case among("lines open", what) && r.tok(i+3).kind == '(':
		mode := "r"
		if r.tok(i+5).kind == ',' {
			mode = r.tok(i + 6).text
		}
		if among("r rb w wb a", mode) && (r.tok(i+5).kind == ')' || r.tok(i+6).kind == 's' && r.tok(i+7).kind == ')') {
			return r.file(i+4, mode[0] != 'r')
		}
	}
	return fmt.Errorf("the name io")
}
