package perl

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// quoted takes a text between quotes.
func (r *reader) quoted(q byte, inserts bool) error {
	text, err := r.until(q, q, 1)
	if err != nil {
		return err
	}
	r.last = "text"
	if inserts {
		return interpolates(text)
	}
	return nil
}

// until takes what stands up to a closing character, from skip bytes on.
func (r *reader) until(open, end byte, skip int) (string, error) {
	depth := 1
	for i := r.at + skip; i < len(r.code); i++ {
		switch c := r.code[i]; {
		case c == '\\':
			i++
		case c == end:
			if depth--; depth == 0 {
				text := r.code[r.at+skip : i]
				r.at = i + 1
				return text, nil
			}
		case c == open:
			depth++
		}
	}
	return "", fmt.Errorf("a text that is not closed")
}

// operator takes q, qq, qw, m, s, tr and their like.
func (r *reader) operator(name string) error {
	rest := r.rest()[len(name):]
	if rest == "" || strings.IndexByte("/{([|!#,~'", rest[0]) < 0 || name == "qx" {
		return fmt.Errorf("%s in a form that is not read", name)
	}
	open := rest[0]
	r.at += len(name)
	switch name {
	case "q", "qw", "qq":
		text, err := r.until(open, closing(open), 1)
		if err != nil {
			return err
		}
		r.last = "text"
		if name == "qq" {
			return interpolates(text)
		}
		return nil
	case "m", "qr":
		return r.pattern(open, 1, true)
	}
	return r.substitution(name, open)
}

func closing(open byte) byte {
	switch open {
	case '{':
		return '}'
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return open
}

// pattern takes a regular expression and what follows it.
func (r *reader) pattern(open byte, skip int, flags bool) error {
	text, err := r.until(open, closing(open), skip)
	if err != nil {
		return err
	}
	r.last = "text"
	if flags {
		r.at += len(flagsForm.FindString(r.rest()))
	}
	return checkPattern(text)
}

var flagsForm = lazyregexp.New(`^[a-z]*`)

func checkPattern(text string) error {
	if codeForm.MatchString(text) {
		return fmt.Errorf("code in a pattern")
	}
	return interpolates(text)
}

// codeForm is what runs code in a pattern.
var codeForm = lazyregexp.New(`\(\s*(\?\??p?\{|\*\*?\{|\?\*)`)

// substitution takes s/// and tr///. A replacement that is code is read, too.
func (r *reader) substitution(name string, open byte) error {
	from, err := r.until(open, closing(open), 1)
	if err != nil {
		return err
	}
	skip := 0
	if closing(open) != open {
		rest := strings.TrimLeft(r.rest(), " \t\n")
		if rest == "" || rest[0] != open {
			return fmt.Errorf("%s in a form that is not read", name)
		}
		r.at = len(r.code) - len(rest)
		skip = 1
	}
	to, err := r.until(open, closing(open), skip)
	if err != nil {
		return err
	}
	flags := flagsForm.FindString(r.rest())
	r.at += len(flags)
	r.last = "text"
	switch {
	case name != "s":
		return nil
	case strings.Count(flags, "e") > 1:
		return fmt.Errorf("a replacement that is run")
	case strings.Contains(flags, "e"):
		if r.depth++; r.depth > 4 {
			return fmt.Errorf("replacements in replacements")
		}
		inner := &reader{code: to, known: r.known, subs: r.subs, depth: r.depth, reads: r.reads}
		if err := inner.read(); err != nil {
			return err
		}
		if len(inner.effects.Reads)+len(inner.effects.Writes) > 0 {
			return fmt.Errorf("a file in a replacement")
		}
		return checkPattern(from)
	}
	if err := checkPattern(from); err != nil {
		return err
	}
	return interpolates(to)
}

// interpolates reports an error where a text may hold code that runs when its
// variables are put in: more than a plain subscript.
func interpolates(text string) error {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '$' || c == '@':
			end, err := inserted(text[i+1:])
			if err != nil {
				return err
			}
			i += end
		}
	}
	return nil
}

// inserted takes a variable in a text, with its subscripts.
func inserted(text string) (int, error) {
	m := heldForm.FindString(text)
	if m == "" {
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "$") || strings.HasPrefix(text, "::") || strings.HasPrefix(text, "^") {
			return 0, fmt.Errorf("code in a text")
		}
		return 0, nil
	}
	if name := strings.Trim(m, "${}^"); name == "ENV" || name == "SIG" || name == "INC" {
		return 0, fmt.Errorf("the variable %s", name)
	}
	at := len(m)
	if strings.HasPrefix(text[at:], "::") {
		return 0, fmt.Errorf("a variable of a module")
	}
	for {
		rest := text[at:]
		skip := 0
		if strings.HasPrefix(rest, "->[") || strings.HasPrefix(rest, "->{") || strings.HasPrefix(rest, "->@") || strings.HasPrefix(rest, "->$") || strings.HasPrefix(rest, "->%") {
			skip = 2
		}
		if len(rest) <= skip || rest[skip] != '[' && rest[skip] != '{' {
			if skip > 0 {
				return 0, fmt.Errorf("code in a text")
			}
			return at, nil
		}
		end := strings.IndexByte(rest, closing(rest[skip]))
		if end < 0 || !plainForm.MatchString(strings.TrimSpace(rest[skip+1:end])) {
			return 0, fmt.Errorf("code in a text")
		}
		at += end + 1
	}
}

var heldForm = lazyregexp.New(`^(\$*[A-Za-z_]\w*|\$*\{\$*[A-Za-z_]\w*\}|[0-9]+|[&])`)
