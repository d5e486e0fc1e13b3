package named

import (
	"fmt"
	"strings"
)

// What begins with a slash, a percent sign or a dollar sign in Ruby.

// rubyValues are names behind which a value begins, where a gap stands between: keywords, and
// methods that take a pattern. A variable of such a name would divide: see rubyRead.
const rubyValues = "if elsif unless while until when case and or not return in then do else puts print p grep grep_v match match? split gsub sub gsub! sub! scan index rindex start_with? partition rpartition slice slice! each_line any? all? none? count find reject select"

// rubyBegins reports whether a value begins at hand, so that a slash begins a pattern.
func (r *wordReader) rubyBegins(gap, line bool) bool {
	t := r.tok(len(r.tokens) - 1)
	switch {
	case line && t.kind != '.' || t.kind == 0:
		return strings.IndexByte("\x00n)]}s0vrw;|{(,=&:!~", t.kind) >= 0
	case t.kind == 'n':
		return gap && among(rubyValues, t.text)
	case t.kind == ':' || t.kind == '?':
		return gap
	}
	return strings.IndexByte("([{,=~!|&;", t.kind) >= 0
}

// rubyToken is a token that the rules of other languages do not know, and how long it is.
func (r *wordReader) rubyToken(rest string, gap, line bool) (kind byte, text string, n int, err error) {
	spaced := len(rest) > 1 && strings.IndexByte(" \t\n=", rest[1]) >= 0
	switch {
	case rest[0] == '/' && !spaced && r.rubyBegins(gap, line), strings.HasPrefix(rest, "/=") && r.tok(len(r.tokens)-1).kind == '(':
		text, n, err = rubyDelimited(rest[1:], '/', '/')
		n++
		kind = 'r'
	case rest[0] == '/' && (r.tok(len(r.tokens)-1).kind != 'n' || spaced || !gap):
		return '/', "/", 1, nil
	case rest[0] == '/':
		return 0, "", 0, fmt.Errorf("a slash that could begin a pattern")
	case len(rest) > 2 && rest[0] == '%' && strings.IndexByte("wir", rest[1]) >= 0 && strings.IndexByte("([{<|!/", rest[2]) >= 0 && (r.rubyBegins(gap, line) || line):
		end := rest[2]
		if at := strings.IndexByte("([{<", end); at >= 0 {
			end = ")]}>"[at]
		}
		text, n, err = rubyDelimited(rest[3:], rest[2], end)
		n += 3
		if kind = 'w'; rest[1] == 'r' {
			kind = 'r'
		}
	case len(rest) > 1 && rest[0] == '$' && strings.IndexByte("123456789~&!._@", rest[1]) >= 0 && !(rest[1] == '_' && len(rest) > 2 && nameByte(rest[2])):
		return 'v', rest[:2], 2, nil
	}
	if err != nil || n == 0 {
		return 0, "", 0, err
	}
	for kind == 'r' && n < len(rest) && strings.IndexByte("imxounse", rest[n]) >= 0 {
		n++
	}
	if n < len(rest) && nameByte(rest[n]) {
		return 0, "", 0, fmt.Errorf("a pattern that could be a quotient")
	}
	if kind == 'w' && strings.Contains(text, "#{") {
		return 0, "", 0, fmt.Errorf("code in a list")
	}
	if kind == 'r' {
		r.texts = append(r.texts, text)
	}
	return kind, text, n, nil
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// rubyDelimited is what stands before the mark that ends it, and how long it is with that.
func rubyDelimited(rest string, begin, end byte) (text string, n int, err error) {
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\':
			if i++; i < len(rest) && rest[i] == '#' {
				return "", 0, fmt.Errorf("a text that could be code")
			}
		case strings.HasPrefix(rest[i:], "#{"):
			n, err := inserted(rest[i:])
			if err != nil {
				return "", 0, err
			}
			i += n - 1
		case c == end && depth == 0:
			return rest[:i], i + 1, nil
		case c == end:
			depth--
		case c == begin:
			depth++
		}
	}
	return "", 0, fmt.Errorf("a pattern that is not closed")
}

// rubyDefined are the names that a program gives to methods, classes and attributes, and
// those of its methods' parameters.
func (r *wordReader) rubyDefined() (methods, params map[string]bool) {
	methods, params = make(map[string]bool), make(map[string]bool)
	for i := range r.tokens {
		t := r.tok(i)
		if t.kind != 'n' || r.tok(i-1).kind == '.' && t.text != "new" && t.text != "define" {
			continue
		}
		switch t.text {
		case "def":
			j := i + 1
			if r.tok(j).text == "self" && r.tok(j+1).kind == '.' {
				j += 2
			}
			if r.tok(j).kind == 'n' {
				methods[r.tok(j).text] = true
			}
			for r.tok(j).kind != '(' && !r.tok(j+1).line && j < i+6 {
				j++
			}
			r.rubyParams(j, params)
		case "class", "module":
			if next := r.tok(i + 1); next.kind == 'n' && r.tok(i-1).kind != '.' && next.text != "self" {
				methods[next.text] = true
			}
		case "attr_reader", "attr_accessor", "attr_writer":
			for j := i + 1; r.tok(j).kind == ':' && r.tok(j+1).kind == 'n'; j += 3 {
				methods[r.tok(j+1).text] = true
			}
		case "new", "define":
			if among("Struct Data", r.tok(i-2).text) && r.tok(i+1).kind == '(' {
				for j := i + 2; r.tok(j).kind == ':' && r.tok(j+1).kind == 'n'; j += 3 {
					methods[r.tok(j+1).text] = true
				}
			}
		case "rescue", "for":
			for j := i + 1; j < i+8 && !r.tok(j).line && r.tok(j).text != "in"; j++ {
				if r.tok(j).kind == 'n' && (t.text == "for" || r.tok(j-1).kind == '>' && r.tok(j-2).kind == '=') {
					params[r.tok(j).text] = true
				}
			}
		}
	}
	for i := range r.tokens {
		if r.tok(i).kind == '-' && r.tok(i+1).kind == '>' && r.tok(i+2).kind == '(' {
			r.rubyParams(i+2, params)
		}
	}
	return methods, params
}

// rubyParams adds the parameters in the brackets that open at i.
func (r *wordReader) rubyParams(i int, params map[string]bool) {
	if r.tok(i).kind != '(' {
		return
	}
	for depth, j := 0, i; j < len(r.tokens); j++ {
		switch t := r.tok(j); {
		case t.kind == '(':
			depth++
		case t.kind == ')':
			if depth--; depth == 0 {
				return
			}
		case t.kind == 'n' && depth == 1 && strings.IndexByte("(,*&", r.tok(j-1).kind) >= 0:
			params[t.text] = true
		}
	}
}

// rubyChain adds the names that are given values at once: a, b = 1, 2. It reports false
// where something else is among them.
func (r *wordReader) rubyChain(i int, own map[string]bool) bool {
	for j := i - 1; ; j-- {
		if r.tok(j).kind == '*' || r.tok(j).kind == ')' || r.tok(j).kind == '(' && j > 0 {
			if r.tok(j).line {
				return true
			}
			continue
		}
		t := r.tok(j)
		if t.kind != 'n' || among(rubyReach, t.text) {
			return false
		}
		own[t.text] = true
		if t.line {
			return true
		}
		switch before := r.tok(j - 1); before.kind {
		case ',':
			j--
		case '(', '*':
		case ';', '{', '|':
			return true
		case 'n':
			return among("do then else", before.text)
		default:
			return false
		}
	}
}
