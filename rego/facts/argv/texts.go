package argv

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Texts are the texts of words.
func Texts(fs []Field) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Text)
	}
	return out
}

// Join is the texts of words with a separator between them.
func Join(fs []Field, sep string) string {
	var texts []string
	for _, f := range fs {
		texts = append(texts, f.Text)
	}
	return strings.Join(texts, sep)
}

// BlankFields are the words of a text between blanks, tabs and ends of lines: no
// other space ends one.
func BlankFields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
}

// IsAssignment reports whether a word is NAME=value.
func IsAssignment(f Field) bool {
	name, _, ok := strings.Cut(f.Text, "=")
	return ok && name != "" && !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "/ ")
}

// Dynamics are the parts of words that are known at run time only.
func Dynamics(fs []Field) []string {
	var out []string
	for _, f := range fs {
		out = append(append(out, f.Dynamic...), f.Assumed...)
		if f.Stdin {
			out = append(out, "stdin")
		}
	}
	return out
}

// QuoteAll writes fields as shell words that expand to themselves. Parts that
// depend on run time stay as they were written.
func QuoteAll(fs []Field) string {
	var words []string
	for _, f := range fs {
		q, err := syntax.Quote(f.Text, syntax.LangBash)
		if !f.Known() || f.Glob || err != nil {
			q = f.Text
		}
		words = append(words, q)
	}
	return strings.Join(words, " ")
}

// AllKnown reports whether nothing of the words depends on run time.
func AllKnown(fs []Field) bool {
	for _, f := range fs {
		if !f.Known() {
			return false
		}
	}
	return true
}
