// Package filter reads programs of awk and sed, and tells which files they read and write
// and what they run.
package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// An awkToken is a token of AWK: its kind is one of the letters below, or the
// operator itself.
type awkToken struct{ kind, text string }

const (
	awkName   = "name"
	awkNumber = "number"
	awkText   = "text"
	awkRegexp = "regexp"
	awkEnd    = "\n" // of a statement
)

var (
	awkWord  = lazyregexp.New(`^(?:[A-Za-z_][A-Za-z0-9_]*)(?:::[A-Za-z_][A-Za-z0-9_]*)?`)
	awkDigit = lazyregexp.New(`^(?:0[xX][0-9a-fA-F]+|[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?)`)
	awkSigns = strings.Fields("**= ** |& >> ++ -- && || += -= *= /= %= ^= == <= >= != !~")
)

// awkStarts are the words that an expression follows.
var awkStarts = strings.Fields("print printf return in do else exit case delete")

// lexAwk splits a program in AWK into tokens. A slash begins a regular
// expression where no operand stands before it.
func lexAwk(s string) (out []awkToken, err error) {
	var parens []bool // whether each belongs to if, for, while or switch
	operand := false  // the last token ends one
	add := func(kind, text string, isOperand bool) {
		out = append(out, awkToken{kind, text})
		operand = isOperand
	}
	for s != "" {
		word, digits := awkWord.FindString(s), awkDigit.FindString(s)
		n := 1
		switch c := s[0]; {
		case c == ' ' || c == '\t' || c == '\r':
		case c == '\\' && strings.HasPrefix(s[1:], "\n"):
			n = 2
		case c == '\n' || c == ';':
			add(awkEnd, "", false)
		case c == '#':
			if n = strings.IndexByte(s, '\n'); n < 0 {
				n = len(s)
			}
		case c == '"' || c == '/' && !operand:
			kind := map[byte]string{'"': awkText, '/': awkRegexp}[c]
			if n, err = awkQuoted(s); err != nil {
				return nil, err
			}
			add(kind, s[1:n-1], true)
		case word != "":
			n = len(word)
			if at := strings.LastIndex(word, ":"); at >= 0 {
				word = word[at+1:]
			}
			add(awkName, word, !slices.Contains(awkStarts, word))
		case digits != "":
			n = len(digits)
			add(awkNumber, digits, true)
		case c == '(':
			before := awkToken{}
			if len(out) > 0 {
				before = out[len(out)-1]
			}
			parens = append(parens, before.kind == awkName && slices.Contains([]string{"if", "while", "for", "switch"}, before.text))
			add("(", "", false)
		case c == ')':
			if len(parens) == 0 {
				return nil, fmt.Errorf("a bracket that closes nothing")
			}
			add(")", "", !parens[len(parens)-1])
			parens = parens[:len(parens)-1]
		case c < ' ' || c >= 0x7f || c == '`':
			return nil, fmt.Errorf("the letter %q", c)
		default:
			sign := s[:1]
			for _, long := range awkSigns {
				if strings.HasPrefix(s, long) {
					sign = long
					break
				}
			}
			n = len(sign)
			add(sign, "", sign == "]" || sign == "++" || sign == "--")
		}
		s = s[n:]
	}
	return append(out, awkToken{awkEnd, ""}), nil
}

// awkQuoted is how long a text or a regular expression is, with its quotes. In a
// regular expression a slash in brackets is one of it; what takes it for the end
// finds the bracket open and runs nothing.
func awkQuoted(s string) (int, error) {
	bracket := false
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '\n' && s[0] == '/':
			return 0, fmt.Errorf("a line that ends in a regular expression")
		case s[0] == '/' && c == '[' && !bracket:
			bracket = true
			for _, first := range []string{"^", "]"} {
				if strings.HasPrefix(s[i+1:], first) {
					i++
				}
			}
		case c == '[' && bracket:
			i += class(s[i:])
		case c == ']':
			bracket = false
		case c == s[0] && !bracket:
			return i + 1, nil
		case c == '\n':
			return 0, fmt.Errorf("a line that ends in a text")
		}
	}
	return 0, fmt.Errorf("a quote that is not closed")
}

// An awkReader looks for what a program in AWK does to files and programs: by
// print > file, getline < file, pipes, and system().
type awkReader struct {
	tokens  []awkToken
	effects outcome.Effects
}

// Awk tells what a program in AWK does.
func Awk(program string) (outcome.Effects, error) {
	tokens, err := lexAwk(program)
	if err != nil {
		return outcome.Effects{}, err
	}
	r := &awkReader{tokens: tokens}
	prints, depth := false, 0
	for i, t := range tokens {
		switch {
		case t.kind == "(" || t.kind == "[":
			depth++
		case t.kind == ")" || t.kind == "]":
			depth--
		case t.kind == awkEnd || t.kind == "{" || t.kind == "}":
			prints, depth = false, 0
		case t.kind == awkName:
			if t.text == "print" || t.text == "printf" {
				prints, depth = true, 0
			}
			r.name(i)
		case t.kind == "@":
			r.unseen("what @ loads or calls")
		case t.kind == "|" || t.kind == "|&":
			r.pipe(i)
		case (t.kind == ">" || t.kind == ">>") && prints && depth == 0:
			if file, ok := r.alone(i + 1); ok {
				r.effects.Writes = append(r.effects.Writes, outcome.Place{Path: file})
			} else {
				r.unseen("a file whose name is not known")
			}
		}
	}
	return r.effects, nil
}

func (r *awkReader) unseen(what string) { r.effects.Unseen = append(r.effects.Unseen, what) }

// at is a token, or the end.
func (r *awkReader) at(i int) awkToken {
	if i < 0 || i >= len(r.tokens) {
		return awkToken{kind: awkEnd}
	}
	return r.tokens[i]
}

// alone is the text at a token, where it is the whole operand.
func (r *awkReader) alone(i int) (string, bool) {
	t := r.at(i)
	if t.kind != awkText || strings.Contains(t.text, `\`) {
		return "", false
	}
	next := r.at(i + 1).kind
	return t.text, slices.Contains([]string{awkEnd, "}", ")", ",", ">", "<", "&&", "||", "=="}, next)
}

// awkReach are names of what leads to more than the records at hand.
var awkReach = strings.Fields("ARGV ARGC SYMTAB FUNCTAB")

func (r *awkReader) name(i int) {
	switch t := r.at(i); {
	case t.text == "system":
		line, ok := r.alone(i + 2)
		if ok = ok && r.at(i+1).kind == "(" && r.at(i+3).kind == ")"; ok {
			r.effects.Shell = append(r.effects.Shell, line)
		} else {
			r.unseen("system of what is not known")
		}
	case slices.Contains(awkReach, t.text):
		r.unseen(t.text)
	case t.text == "getline":
		to := i + 1
		if r.at(to).kind == awkName { // the variable that it fills
			to++
		}
		if r.at(to).kind == "<" {
			if file, ok := r.alone(to + 1); ok {
				r.effects.Reads = append(r.effects.Reads, outcome.Place{Path: file})
			} else {
				r.unseen("a file whose name is not known")
			}
		} else if to == i+1 && slices.Contains([]string{"$", "(", "["}, r.at(to).kind) || r.at(to).kind == "[" {
			r.unseen("getline of what is not known")
		}
	}
}

// pipe notes a program at either end of a pipe.
func (r *awkReader) pipe(i int) {
	var line string
	ok := false
	if into := r.at(i + 1); into.kind == awkName && into.text == "getline" {
		before := r.at(i - 2)
		line, ok = r.at(i-1).text, r.at(i-1).kind == awkText && !strings.Contains(r.at(i-1).text, `\`) && slices.Contains([]string{awkEnd, "{", "(", "}", ","}, before.kind)
	} else {
		line, ok = r.alone(i + 1)
	}
	if !ok || strings.HasPrefix(line, "/inet") {
		r.unseen("a program that is not known")
		return
	}
	r.effects.Shell = append(r.effects.Shell, line)
}
