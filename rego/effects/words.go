package effects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

var plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./$*?{}~^!\[\]#-]+$`)

// quoted is a word that a reader cannot take for two.
func quoted(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// thing is what an operand names: a word, or all that a command of the call prints.
func thing(w string) string {
	if inner, ok := printed(w); ok {
		return "what " + short(inner, 90) + " lists"
	}
	return quoted(w)
}

// printed is the command of which a word is what it prints.
func printed(w string) (string, bool) {
	inner, ok := strings.CutSuffix(strings.TrimPrefix(w, "$("), ")")
	if !ok || !strings.HasPrefix(w, "$(") || strings.Contains(inner, "$(") || strings.ContainsAny(inner, "\n") {
		return "", false
	}
	return strings.TrimSpace(inner), true
}

// things is words as a shell would take them, but for those that are known only when
// they are printed.
func things(words []string) string {
	if !slices.ContainsFunc(words, func(w string) bool { _, ok := printed(w); return ok }) {
		return line(words)
	}
	return listing(words)
}

// line is words as a shell would take them, of bounded length.
func line(words []string) string {
	const most = 90
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = quoted(w)
	}
	return short(strings.Join(q, " "), most)
}

// short is the beginning of a text.
func short(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// listing shows some of the words, and how many more there are.
func listing(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = thing(w)
	}
	return some(q)
}

// some is listing of what is quoted already.
func some(words []string) string {
	const most = 4
	s := strings.Join(words[:min(len(words), most)], ", ")
	if more := len(words) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// spaced joins what is not empty.
func spaced(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
