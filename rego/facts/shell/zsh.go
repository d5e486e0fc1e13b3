package shell

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"mvdan.cc/sh/v3/syntax"
)

// zsh expands some words to something else than bash: it does not split what
// an unquoted parameter holds, $a is a whole array, whose subscripts begin with
// 1, and subscripts and modifiers stand behind a plain $x, too. A command with
// such words is followed in both readings; elsewhere such a word is not known.

// A difference says how the readings of a word differ.
type difference uint8

const (
	differsInSplits   difference = 1 << iota // zsh does not split
	differs                                  // zsh expands to other text
	differsInElements                        // elements of an array may not be there
	differsInArrays                          // and so for more than one array
)

// readings are the fields of a command's words, and those that zsh makes of
// them: nil where nothing hangs on the difference. Words that were not split
// make no other file or option: they matter to what reads them as code.
func (s *Shell) readings(words []*syntax.Word) (fields, zsh []argv.Field) {
	defer func(d *difference) { s.differs = d }(s.differs)
	var found difference
	s.differs = &found
	fields = s.fields(words)
	if found&differsInElements != 0 {
		if found&differs != 0 {
			s.Found.Fail("shell: elements that may not be there, in words that shells read differently")
		}
		if found&differsInArrays != 0 || s.decidedByElements(words, fields) {
			s.Found.Fail("shell: what runs depends on elements of an array that may not be there")
		}
		other := s.quietly()
		other.sparse, other.differs = true, nil
		return fields, other.fields(words)
	}
	if found&differs == 0 && (found == 0 || len(fields) == 0 || !s.runsOthers(fields[0].Text)) {
		return fields, nil
	}
	other := s.quietly()
	other.zsh, other.differs = true, nil
	return fields, other.fields(words)
}

// decidedByElements reports whether elements that may not be there name the program, or
// become the parameters of the shell.
func (s *Shell) decidedByElements(words []*syntax.Word, fields []argv.Field) bool {
	var first difference
	probe := s.quietly()
	probe.differs = &first
	probe.fields(words[:1])
	return first&differsInElements != 0 || len(fields) == 0 || fields[0].Text == "set"
}

func (s *Shell) runsOthers(program string) bool {
	name := strings.ToLower(path.Base(program))
	_, wrapper := WrapperTable()[name]
	return wrapper || s.Follows(name) != nil
}

// differ notes that zsh reads a part of the word at hand in another way.
func (s *Shell) differ(b *wordBuilder, p *syntax.ParamExp, d difference, q quoting) {
	switch {
	case s.zsh:
	case s.differs != nil:
		*s.differs |= d
	case d == differs:
		b.dynamic("", argv.OriginAny, false, q)
		b.cur.Dynamic[len(b.cur.Dynamic)-1] = s.written(p)
	}
}

// parts expands the parts of a word in their order.
func (s *Shell) parts(b *wordBuilder, parts []syntax.WordPart, q quoting) {
	for i := 0; i < len(parts); i++ {
		p, isParam := parts[i].(*syntax.ParamExp)
		if lit, ok := parts[i].(*syntax.Lit); ok && lit.Value == "" {
			continue // what an empty brace leaves
		}
		s.part(b, parts[i], q)
		if ps, ok := parts[i].(*syntax.ProcSubst); ok && (len(parts) > 1 || len(ps.Stmts) == 0) {
			b.cur.Origin = argv.OriginAny // any path, and nothing where bash runs an empty one
		}
		if !isParam || !p.Short || i+1 == len(parts) {
			continue
		}
		lit, ok := parts[i+1].(*syntax.Lit)
		if !ok || !zshSuffix(lit.Value) {
			continue
		}
		s.differ(b, p, differs, q)
		if !s.zsh {
			continue
		}
		if modified, rest, known := modify(b.text.String(), lit.Value); known && i == 0 && b.cur.Dynamic == nil {
			b.text.Reset()
			b.add(modified + rest)
			i++
			continue
		}
		b.dynamic("", argv.OriginAny, false, q)
		b.cur.Dynamic[len(b.cur.Dynamic)-1] = s.written(p)
	}
}

// zshSuffix reports whether text behind $x is a subscript or a modifier to zsh,
// or goes on with its name: zsh has letters of all scripts in names.
func zshSuffix(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return strings.HasPrefix(text, "[") || first >= utf8.RuneSelf && (unicode.IsLetter(first) || unicode.IsDigit(first)) ||
		len(text) > 1 && text[0] == ':' && strings.IndexByte("aAcefFghlpPqQrstuwWx&", text[1]) >= 0
}

// modify is a value with the modifiers that stand before text, as far as they
// are those of paths and of upper and lower case.
func modify(value, text string) (modified, rest string, known bool) {
	for zshSuffix(text) {
		if text[0] != ':' {
			return "", "", false
		}
		switch text[1] {
		case 'h':
			value = path.Dir(path.Clean(value))
		case 't':
			value = path.Base(value)
		case 'r':
			value = strings.TrimSuffix(value, path.Ext(value))
		case 'e':
			value = strings.TrimPrefix(path.Ext(value), ".")
		case 'l':
			value = strings.ToLower(value)
		case 'u':
			value = strings.ToUpper(value)
		default:
			return "", "", false
		}
		text = text[2:]
	}
	return value, text, true
}

// whole adds the values of a parameter as zsh does: not split, but for arrays,
// and empty ones left out.
func (b *wordBuilder) whole(values []string) {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	for i, v := range values {
		if i > 0 {
			b.end()
		}
		b.add(v)
	}
}
