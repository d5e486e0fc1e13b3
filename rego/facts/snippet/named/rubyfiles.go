package named

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// insertedWord is the text in double quotes at the beginning of code, as it is written,
// with the code in it: "a #{b["c"]}".
func insertedWord(code string) (text string, n int, err error) {
	for i := 1; i < len(code); i++ {
		switch {
		case code[i] == '\\':
			if i++; i < len(code) && code[i] == '#' {
				return "", 0, fmt.Errorf("a text that could be code")
			}
		case code[i] == '"':
			return code[1:i], i + 1, nil
		case strings.HasPrefix(code[i:], "#{"):
			n, err := inserted(code[i:])
			if err != nil {
				return "", 0, err
			}
			i += n - 1
		}
	}
	return "", 0, fmt.Errorf("a text that is not closed")
}

// inserted is how long the #{code} is that begins a text.
func inserted(text string) (n int, err error) {
	open := 1
	for i := 2; i < len(text); i++ {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i + 1, nil
			}
		case '#', '`', '\\', '%', '?':
			return 0, fmt.Errorf("code in a text that is not read")
		case '"':
			_, n, err := insertedWord(text[i:])
			if err != nil {
				return 0, err
			}
			i += n - 1
		case '\'':
			_, n, err := quotedWord(text[i:])
			if err != nil {
				return 0, err
			}
			i += n - 1
		}
	}
	return 0, fmt.Errorf("code in a text that is not closed")
}

// rubySteps are methods between a listing and the block that gets what it lists, and
// those that hand it to their block: none of them changes a name.
const rubySteps = "each map flat_map sort select filter reject filter_map sum count each_with_index each_with_object sort_by group_by to_h uniq reverse find any? all? none? first last take min_by max_by partition each_entry"

// rubyListed notes the variables that hold names of files which a program lists and hands
// to its blocks, and nothing else, as in Dir["src/*.rb"].each { |f| ... }.
func (r *wordReader) rubyListed() error {
	r.listed = make(map[string][]string)
	for name, text := range r.constants {
		r.listed[name] = []string{text}
	}
	for i := range r.tokens {
		if r.tok(i).kind != '|' || r.tok(i-1).kind != '{' && r.tok(i-1).text != "do" || r.tok(i+1).kind != 'n' {
			continue
		}
		if globs := r.rubyGlobs(i - 2); len(globs) > 0 && (r.tok(i+2).kind == '|' || r.tok(i+2).kind == ',') {
			name := r.tok(i + 1).text
			r.listed[name] = append(r.listed[name], globs...)
		}
	}
	for name := range r.listed { // given anything else, it is no such name
		for i, t := range r.tokens {
			parameter := (r.tok(i-1).kind == '|' || r.tok(i-1).kind == ',' || r.tok(i-1).kind == '(') && (r.tok(i+1).kind == '|' || r.tok(i+1).kind == ',') && r.tok(i-1).kind != '('
			if t.kind == 'n' && t.text == name && (r.rubyGiven(i) && !r.constant[i] || parameter && (r.tok(i-1).kind != '|' || len(r.rubyGlobs(i-3)) == 0) && r.inBars(i)) {
				return fmt.Errorf("a file that is not known")
			}
		}
	}
	return nil
}

// rubyGiven reports whether the name at i is given a value, or another one: a = 1, a ||= 1.
func (r *wordReader) rubyGiven(i int) bool {
	next, after := r.tok(i+1), r.tok(i+2)
	if next.kind == '=' {
		return after.kind != '='
	}
	return strings.IndexByte("+-*/|&<%^", next.kind) >= 0 && (after.kind == '=' || after.kind == next.kind && r.tok(i+3).kind == '=')
}

// rubyMany adds the names that a program gives values to at once, as in a, b = 1, 2, and
// reports whether it does that to anything else.
func (r *wordReader) rubyMany(own map[string]bool) bool {
	for i, t := range r.tokens {
		next, before := r.tok(i+1), r.tok(i-1)
		switch {
		case t.kind != '=', !next.gap && strings.IndexByte("=~>", next.kind) >= 0, !t.gap && strings.IndexByte("=!<>", before.kind) >= 0, r.inBars(i), r.rubyDefault(i):
		case r.rubyTargets(i):
			names := make(map[string]bool)
			if !r.rubyChain(i, names) {
				return true
			}
			for name := range names {
				own[name], own["\x00"+name] = true, true // and no file's
			}
		}
	}
	return false
}

// rubyTargets reports whether more than one name, or * and a name, stands before the = at i.
func (r *wordReader) rubyTargets(i int) bool {
	var closed []byte
	for j := i - 1; j >= 0; j-- {
		t, behind := r.tok(j), r.tok(j+1)
		if n := len(closed); n == 0 && behind.line && strings.IndexByte(",*(.:", t.kind) < 0 && behind.kind != '.' {
			return false
		}
		switch t.kind {
		case ')', ']', '}':
			closed = append(closed, t.kind)
		case '(', '[', '{':
			if len(closed) == 0 && t.kind == '{' {
				return false
			}
			closed = closed[:max(len(closed)-1, 0)]
		case ';', '|', '=':
			if len(closed) == 0 {
				return false
			}
		case ',', '*':
			if inside := len(closed) > 0 && closed[len(closed)-1] != ')'; !inside && (t.kind == ',' || j < i-1) {
				return true
			}
		}
	}
	return false
}

// inBars reports whether the token at i is a parameter of a block.
func (r *wordReader) inBars(i int) bool {
	for j := i - 1; j > 0; j-- {
		switch t := r.tok(j); {
		case t.kind == '|':
			return r.tok(j-1).kind == '{' || r.tok(j-1).text == "do"
		case t.kind != 'n' && t.kind != ',' && t.kind != '(' && t.kind != ')':
			return false
		}
	}
	return false
}

// rubyGlobs are the patterns of the listing whose names go to a block that begins behind
// the token at i; none where it is no listing, or what it prints is changed on the way.
func (r *wordReader) rubyGlobs(i int) (globs []string) {
	for {
		if r.tok(i).kind == ')' { // .first(3), .each_with_object({})
			from := i - 1
			for from > 0 && i-from < 8 && r.tok(from).kind != '(' {
				if t := r.tok(from); strings.IndexByte("0{}[]()", t.kind) < 0 && t.text != "Hash" && t.text != "new" && t.kind != '.' {
					return r.rubyPatterns(i, "(")
				}
				from--
			}
			if r.tok(from-2).kind == '.' && among(rubySteps, r.tok(from-1).text) {
				i = from - 3
				continue
			}
			return r.rubyPatterns(i, "(")
		}
		if r.tok(i).kind == 'n' && among(rubySteps, r.tok(i).text) && r.tok(i-1).kind == '.' {
			i -= 2
			continue
		}
		return r.rubyPatterns(i, "[")
	}
}

// rubyPatterns are those of Dir[...] or Dir.glob(...) that ends with the token at i.
func (r *wordReader) rubyPatterns(i int, open string) (globs []string) {
	i--
	for {
		t := r.tok(i)
		if t.kind != 's' || t.text == "" || strings.ContainsAny(t.text, "\\#$|~") || strings.Contains(t.text, "://") {
			return nil
		}
		each, ok := alternatives(t.text, 16)
		if !ok {
			return nil
		}
		globs = append(globs, each...)
		if r.tok(i-1).kind != ',' {
			break
		}
		i -= 2
	}
	switch {
	case open == "[" && r.tok(i-1).kind == '[' && r.tok(i-2).text == "Dir" && r.tok(i-3).kind != '.' && r.tok(i-3).kind != ':':
	case open == "(" && r.tok(i-1).kind == '(' && r.tok(i-2).text == "glob" && r.tok(i-3).kind == '.' && r.tok(i-4).text == "Dir" && r.tok(i-5).kind != '.' && r.tok(i-5).kind != ':':
	default:
		return nil
	}
	return globs
}

// alternatives are the patterns that one with braces stands for: a.{b,c}. It reports
// false where there are too many, or braces stand in braces.
func alternatives(pattern string, most int) ([]string, bool) {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}, !strings.Contains(pattern, "}")
	}
	list, after, ok := strings.Cut(rest, "}")
	if !ok || strings.Contains(list, "{") || strings.Contains(before, "}") {
		return nil, false
	}
	var all []string
	for part := range strings.SplitSeq(list, ",") {
		more, ok := alternatives(before+part+after, most)
		if all = append(all, more...); !ok || len(all) > most {
			return nil, false
		}
	}
	return all, true
}

// rubyOpens judges the file that a method reads whose argument begins at i.
func (r *wordReader) rubyOpens(i int) error {
	bare := r.tok(i).kind != '('
	if !bare {
		i++
	}
	t, after := r.tok(i), r.tok(i+1)
	switch {
	case r.listed[t.text] != nil && t.kind == 'n' && (after.kind == ')' || after.kind == ',' || bare && strings.IndexByte("}n;\x00", after.kind) >= 0):
		for _, g := range r.listed[t.text] {
			r.effects.Reads = append(r.effects.Reads, outcome.Place{Path: g})
		}
		return nil
	case bare:
		return fmt.Errorf("a file that is not known")
	}
	return r.file(i, false)
}

// rubyLooks reports whether the name of a listed file, at i, is only looked at: it is
// printed, or taken for the name of a file that is read, and stays what it is.
func (r *wordReader) rubyLooks(i int) bool {
	before, after := r.tok(i-1), r.tok(i+1)
	switch {
	case r.constant[i]:
		return true
	case r.inBars(i) && (before.kind == '|' || before.kind == ','):
		return true
	case after.kind == '.' && !among("basename sub gsub split delete_prefix delete_suffix end_with? start_with? include? upcase downcase length size tr [] == match? to_sym", r.tok(i+2).text):
		return false
	case after.kind == '<', after.kind == '[' && !after.gap, after.kind == '=', after.kind == '+', after.kind == '*', after.kind == '%':
		return false
	}
	if before.kind == '(' {
		before = r.tok(i - 2)
	}
	return before.kind == 0 && (after.kind == 0 || after.kind == '.') || // the code of a text
		before.kind == 'n' && among("puts print p write read readlines foreach load_file basename extname dirname exist? file? directory? size mtime zero? next if unless", before.text) ||
		after.kind == '.' && (before.kind == '{' || before.kind == '|' || before.kind == '!' || before.kind == '&')
}

// rubyWrites judges the file that File.write writes whose arguments begin at i.
func (r *wordReader) rubyWrites(i int) error {
	if r.tok(i).kind != '(' || r.tok(i+2).kind != ',' || r.tok(i+3).kind == 's' && r.tok(i+3).text == "" {
		return fmt.Errorf("a file that is not known")
	}
	t := r.tok(i + 1)
	if t.kind == 'n' && r.listed[t.text] != nil {
		for _, g := range r.listed[t.text] {
			r.effects.Writes = append(r.effects.Writes, outcome.Place{Path: g})
		}
		return nil
	}
	return r.file(i+1, true)
}

// rubyConstants notes the variables that hold the name of one file and nothing else, where
// a program reads or writes that.
func (r *wordReader) rubyConstants(own map[string]bool) {
	r.constant = make(map[int]bool)
	_, params := r.rubyDefined()
	for i, t := range r.tokens {
		if t.kind != 'n' || !among("read readlines foreach load_file safe_load_file write", t.text) || r.tok(i-1).kind != '.' || r.tok(i+1).kind != '(' || r.tok(i+2).kind != 'n' {
			continue
		}
		name := r.tok(i + 2).text
		at := -1
		for j, u := range r.tokens {
			if u.kind == 'n' && u.text == name && r.rubyGiven(j) {
				if end := r.tok(j + 3); at >= 0 || !u.line && r.tok(j-1).kind != ';' || r.tok(j+1).kind != '=' || r.tok(j+2).kind != 's' || !end.line && end.kind != ';' && end.kind != 0 || strings.IndexByte("nv;\x00", end.kind) < 0 {
					at = len(r.tokens)
				} else {
					at = j
				}
			}
		}
		if at < 0 || at >= len(r.tokens) || params[name] || among("it _1 _2", name) {
			continue
		}
		if text := r.tok(at + 2).text; text != "" && !strings.ContainsAny(text, "\\#$|~*?[]{}") && !strings.Contains(text, "://") && (r.listed == nil || r.listed[name] == nil) {
			r.constant[at] = true
			if r.constants == nil {
				r.constants = make(map[string]string)
			}
			r.constants[name] = text
		}
	}
}

// rubyDefault reports whether the = at i gives a parameter its value, as in ->(a, b = 1).
func (r *wordReader) rubyDefault(i int) bool {
	for j, depth := i-1, 0; j > 0; j-- {
		switch r.tok(j).kind {
		case ')':
			depth++
		case '(':
			if depth--; depth < 0 {
				return r.tok(j-1).kind == '>' && r.tok(j-2).kind == '-' || r.tok(j-2).text == "def" || r.tok(j-4).text == "def" && r.tok(j-2).kind == '.'
			}
		}
	}
	return false
}
