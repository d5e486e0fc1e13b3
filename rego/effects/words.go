package effects

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shortened are subcommands that are no words.
var shortened = map[string]string{
	"rm": "remove", "rmi": "remove", "del": "delete", "mv": "move", "cp": "copy", "mb": "make", "rb": "remove", "un": "uninstall",
	"i": "install", "up": "bring up", "down": "take down", "exec": "run a command in",
}

// destroying are what programs call it when something is gone afterwards.
var destroying = []string{
	"delete", "remove", "destroy", "terminate", "uninstall", "purge", "prune", "drop", "erase", "wipe", "take", "deregister", "disassociate", "detach", "empty", "flush", "reset", "clear", "rollback", "downgrade",
}

// phrase is a subcommand as a verb and what it is done to: "terminate-instances"
// is to terminate instances, and "pg:reset" to reset pg.
func phrase(subcommand []string) (verb, nouns string) {
	if len(subcommand) == 0 {
		return "", ""
	}
	last := subcommand[len(subcommand)-1]
	var things []string
	for _, w := range subcommand[:len(subcommand)-1] {
		things = append(things, strings.ReplaceAll(w, "-", " "))
	}
	if noun, v, ok := strings.Cut(last, ":"); ok && v != "" {
		things, last = append(things, noun), v[strings.LastIndex(v, ":")+1:]
	} else if v, noun, ok := strings.Cut(last, "-"); ok {
		return long(v), strings.ReplaceAll(noun, "-", " ")
	}
	return long(last), strings.Join(things, " ")
}

func long(verb string) string {
	if l, ok := shortened[verb]; ok {
		return l
	}
	return verb
}

// destroys reports whether nothing is left of what the verb is done to.
func destroys(verb string) bool {
	first, _, _ := strings.Cut(verb, " ")
	return slices.Contains(destroying, first) || strings.HasPrefix(first, "flush")
}

// isVerb reports whether a subcommand can be a word that says what to do, and is
// no file.
func isVerb(verb string) bool {
	return verb != "" && strings.Trim(verb, "abcdefghijklmnopqrstuvwxyz ") == ""
}

// does is a verb as it begins a sentence: "apply" is "Applies".
func does(verb string) string {
	first, rest, more := strings.Cut(verb, " ")
	switch {
	case first == "":
		return "Does"
	case strings.HasSuffix(first, "y") && len(first) > 1 && !strings.ContainsAny(first[len(first)-2:len(first)-1], "aeiou"):
		first = first[:len(first)-1] + "ies"
	case strings.HasSuffix(first, "s"), strings.HasSuffix(first, "x"), strings.HasSuffix(first, "z"), strings.HasSuffix(first, "ch"), strings.HasSuffix(first, "sh"), first == "do", first == "go":
		first += "es"
	default:
		first += "s"
	}
	if more {
		first += " " + rest
	}
	return strings.ToUpper(first[:1]) + first[1:]
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./$*?{}~^!\[\]#-]+$`)

// quoted is a word that a reader cannot take for two.
func quoted(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
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
		q[i] = quoted(w)
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
