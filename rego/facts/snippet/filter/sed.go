package filter

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// A sedReader reads a script of sed: its commands, and nothing that they do but
// to files and programs. What the seds of GNU and BSD read in different ways is
// an error.
type sedReader struct {
	rest    string
	effects outcome.Effects
}

// Sed tells what a script of sed does.
func Sed(script string) (outcome.Effects, error) {
	r := &sedReader{rest: script}
	for {
		r.rest = strings.TrimLeft(r.rest, " \t\n;}")
		if r.rest == "" {
			return r.effects, nil
		}
		if err := r.command(); err != nil {
			return outcome.Effects{}, err
		}
	}
}

func (r *sedReader) unseen(what string) { r.effects.Unseen = append(r.effects.Unseen, what) }

// line takes what is left of the line.
func (r *sedReader) line() string {
	line, rest, _ := strings.Cut(r.rest, "\n")
	r.rest = rest
	return strings.TrimSpace(line)
}

func (r *sedReader) command() error {
	if err := r.address(); err != nil {
		return err
	}
	r.rest = strings.TrimLeft(r.rest, " \t!")
	if r.rest == "" {
		return fmt.Errorf("no command behind an address")
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	switch {
	case c == '{':
	case c == '#':
		r.line()
	case strings.IndexByte("=dDgGhHnNpPxzFqQlL", c) >= 0:
		r.rest = strings.TrimLeft(r.rest, "0123456789 \t")
	case strings.IndexByte(":btTv", c) >= 0:
		r.rest = strings.TrimLeft(r.rest, " \t")
		end := strings.IndexAny(r.rest+";", "; \t\n}")
		r.rest = r.rest[min(end, len(r.rest)):]
	case strings.IndexByte("aic", c) >= 0:
		r.inserted()
		return nil
	case c == 'r' || c == 'R':
		r.effects.Reads = append(r.effects.Reads, outcome.Place{Path: r.line()})
		return nil
	case c == 'w' || c == 'W':
		r.effects.Writes = append(r.effects.Writes, outcome.Place{Path: r.line()})
		return nil
	case c == 'e':
		if line := r.line(); line != "" {
			r.effects.Shell = append(r.effects.Shell, line)
		} else {
			r.unseen("lines that are run")
		}
		return nil
	case c == 's':
		return r.substitute()
	case c == 'y':
		if _, err := r.parts(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the command %c", c)
	}
	return r.ended(c)
}

// ended holds that a command ends here.
func (r *sedReader) ended(c byte) error {
	r.rest = strings.TrimLeft(r.rest, " \t")
	if c != '{' && c != '#' && r.rest != "" && !strings.ContainsRune(";\n}#", rune(r.rest[0])) {
		return fmt.Errorf("%q behind the command %c", r.rest[:1], c)
	}
	return nil
}

// address reads up to two addresses.
func (r *sedReader) address() error {
	for {
		r.rest = strings.TrimLeft(r.rest, " \t,0123456789$~+")
		regexp := strings.HasPrefix(r.rest, "/")
		if other := strings.HasPrefix(r.rest, `\`) && len(r.rest) > 1; other {
			r.rest, regexp = r.rest[1:], true
		}
		if !regexp {
			return nil
		}
		if _, err := r.part(r.rest[0], true); err != nil {
			return err
		}
		r.rest = strings.TrimLeft(r.rest, "IM")
	}
}

// part reads what stands between the delimiter at hand and the next. A regular
// expression with the delimiter in brackets ends elsewhere for BSD.
func (r *sedReader) part(delimiter byte, expression bool) (string, error) {
	s := r.rest[1:]
	bracket := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == delimiter && bracket:
			return "", fmt.Errorf("%c in brackets", c)
		case c == delimiter:
			r.rest = s[i+1:]
			return s[:i], nil
		case c == '\\' && bracket:
		case c == '[' && bracket:
			i += class(s[i:])
		case c == '\\':
			i++
		case c == '\n' && expression:
			return "", fmt.Errorf("a line that ends in a regular expression")
		case c == '[' && expression && !bracket:
			bracket = true
			for _, first := range []string{"^", "]"} {
				if strings.HasPrefix(s[i+1:], first) {
					i++
				}
			}
		case c == ']':
			bracket = false
		}
	}
	return "", fmt.Errorf("no second %c", delimiter)
}

// parts are the two of s and y. What follows them is left.
func (r *sedReader) parts() (to string, err error) {
	if r.rest == "" || r.rest[0] == '\\' || r.rest[0] == '\n' || r.rest[0] >= 0x80 {
		return "", fmt.Errorf("no delimiter")
	}
	delimiter := r.rest[0]
	if _, err := r.part(delimiter, true); err != nil {
		return "", err
	}
	r.rest = string(delimiter) + r.rest
	return r.part(delimiter, false)
}

// class is how many bytes follow the first of a class in brackets, as [:alpha:].
func class(s string) int {
	if len(s) < 4 || strings.IndexByte(":.=", s[1]) < 0 {
		return 0
	}
	if end := strings.Index(s[2:], s[1:2]+"]"); end >= 0 {
		return end + 3
	}
	return 0
}

func (r *sedReader) substitute() error {
	if _, err := r.parts(); err != nil {
		return err
	}
	for r.rest != "" {
		flag := r.rest[0]
		switch {
		case flag == 'w':
			r.rest = r.rest[1:]
			r.effects.Writes = append(r.effects.Writes, outcome.Place{Path: r.line()})
			return nil
		case flag == 'e':
			r.unseen("lines that are run")
		case strings.IndexByte("gpiImM0123456789", flag) < 0:
			return r.ended('s')
		}
		r.rest = r.rest[1:]
	}
	return nil
}

// inserted reads the text of a, i and c: a line, and those that backslashes
// join to it.
func (r *sedReader) inserted() {
	for {
		line, rest, _ := strings.Cut(r.rest, "\n")
		r.rest = rest
		slashes := len(line) - len(strings.TrimRight(line, `\`))
		if slashes%2 == 0 {
			return
		}
	}
}
