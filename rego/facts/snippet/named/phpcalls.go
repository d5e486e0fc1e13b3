package named

import (
	"fmt"
	"strings"
)

// What functions of PHP call that are handed a function, and what variables hold one.

// phpClosure reports whether a variable holds functions that the program writes down, and
// nothing else.
func (r *wordReader) phpClosure(name string) bool {
	found := false
	for j, t := range r.tokens {
		if t.kind != 'v' || t.text != name {
			continue
		}
		before, next, after := r.tok(j-1), r.tok(j+1), r.tok(j+2)
		switch {
		case next.kind == '(' && before.kind != '&' && before.kind != '$':
		case (next.kind == ')' || next.kind == ',') && before.kind != '&' && before.kind != '.' && r.handedOn(j):
		case next.kind == '=' && after.kind != '=' && after.kind != '>':
			if after.text == "static" {
				after = r.tok(j + 3)
			}
			if !among("fn function", strings.ToLower(after.text)) || after.kind != 'n' {
				return false
			}
			found = true
		default:
			return false
		}
	}
	return found && !strings.Contains(r.code, "{"+name) && !strings.Contains(r.code, "extract") && !strings.Contains(r.code, "parse_str")
}

// handedOn reports whether the variable at i is given to a function that calls it, or to a
// closure that uses it.
func (r *wordReader) handedOn(i int) bool {
	for j, depth := i-1, 0; j > 0; j-- {
		switch r.tok(j).kind {
		case ')', ']':
			depth++
		case '(', '[':
			if depth--; depth < 0 {
				name := strings.ToLower(r.tok(j - 1).text)
				return r.tok(j).kind == '(' && r.tok(j-1).kind == 'n' && (name == "use" || phpCallback(name) >= 0 && !among("array_walk array_walk_recursive", name))
			}
		case ';', '{', '}':
			return false
		}
	}
	return false
}

// phpTaken reports whether the variable at i is given a value out of a list: [$a, $f] = $x.
func (r *wordReader) phpTaken(i int) bool {
	for j, depth := i-1, 0; j > 0; j-- {
		switch r.tok(j).kind {
		case ')', ']':
			depth++
		case '(':
			if depth--; depth < 0 && strings.EqualFold(r.tok(j-1).text, "list") {
				return true
			}
			depth = max(depth, 0)
		case '[':
			if depth--; depth >= 0 {
				continue
			}
			depth = 0
			end := j + 1
			for in := 1; in > 0 && end < len(r.tokens); end++ {
				switch r.tok(end).kind {
				case '[':
					in++
				case ']':
					in--
				}
			}
			if among("as", r.tok(j-1).text) || r.tok(end).kind == '=' && r.tok(end+1).kind != '=' && r.tok(end+1).kind != '>' || r.tok(j-1).kind == '>' && r.tok(j-2).kind == '=' {
				return true
			}
		case ';', '{', '}':
			return false
		}
	}
	return false
}

// inParameters reports whether the token at i is a parameter of a function.
func (r *wordReader) inParameters(i int) bool {
	for j, depth := i-1, 0; j > 0; j-- {
		switch r.tok(j).kind {
		case ')':
			depth++
		case '(':
			if depth--; depth < 0 {
				return among("fn function catch use foreach", strings.ToLower(r.tok(j-1).text)) || among("function", strings.ToLower(r.tok(j-2).text))
			}
		case ';', '{', '}':
			return false
		}
	}
	return false
}

// phpCallback is where the argument stands that a function calls; below 0 where there is none.
func phpCallback(name string) int {
	for f := range strings.FieldsSeq(phpCallbacks) {
		if of, at, _ := strings.Cut(f, "="); of == name {
			return int(at[0] - '0')
		}
	}
	return -1
}

// phpCalled judges the argument of a number in the brackets that open at i: it is a function
// that is written down, or named.
func (r *wordReader) phpCalled(i, number int, own map[string]bool) error {
	at := i + 1
	for depth, j := 0, i; j < len(r.tokens) && number > 0; j++ {
		switch t := r.tok(j); {
		case t.kind == '(' || t.kind == '[' || t.kind == '{':
			depth++
		case t.kind == ')' || t.kind == ']' || t.kind == '}':
			if depth--; depth == 0 {
				return nil // it is not given
			}
		case t.kind == '.' && r.tok(j+1).kind == '.':
			return fmt.Errorf("arguments that are spread")
		case t.kind == ',' && depth == 1:
			number--
			at = j + 1
		case t.kind == 'n' && r.tok(j+1).kind == ':' && r.tok(j+2).kind != ':' && depth == 1:
			return fmt.Errorf("arguments by their names")
		}
	}
	f, end := r.tok(at), r.tok(at+1).kind
	name := strings.ToLower(f.text)
	switch {
	case f.kind == 'n' && among("fn function static null", name):
	case f.kind == 's' && (end == ',' || end == ')') && (among(phpCalls, name) || own[name+"()"]):
	case f.kind == 'n' && end == '(' && r.tok(at+2).kind == '.' && r.tok(at+3).kind == '.' && (among(phpCalls, name) || own[name+"()"]):
	case f.kind == 'v' && r.phpClosure(f.text):
	default:
		return fmt.Errorf("a call of what a value holds")
	}
	return nil
}
