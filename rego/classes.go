package rego

import (
	"slices"
	"strings"
)

// commandClasses is data.settings.commands, read once for each policy: looking
// words up in it is most of what a shell call costs in Rego. The pack's
// commands.rego says the same, for inputs that come without classes; a test
// holds the two together.
type commandClasses map[string]commandClass

// A commandClass is what the table says of a program or of a word after it.
type commandClass struct {
	class string                  // of the command; empty where it has none of its own
	words map[string]string       // words that give the command another class
	below map[string]commandClass // by the word that follows
}

// readCommandClasses reads the table out of a policy's data. What has another
// form is left out: the schema of settings refuses it, and a policy that
// replaces the pack may keep there what it likes.
func readCommandClasses(data object) commandClasses {
	settings, _ := data[rootSettings].(object)
	table, _ := settings["commands"].(object)
	return readClass(table).below
}

func readClass(v any) commandClass {
	var c commandClass
	switch v := v.(type) {
	case string:
		c.class = v
	case []any:
		if len(v) != 2 {
			return c
		}
		c.class, _ = v[0].(string)
		words, _ := v[1].(object)
		c.words = make(map[string]string, len(words))
		for word, class := range words {
			c.words[word], _ = class.(string)
		}
	case object:
		c.below = make(map[string]commandClass, len(v))
		for word, below := range v {
			c.below[word] = readClass(below)
		}
	}
	return c
}

// of is the class of a command, or empty where the table does not know it.
func (t commandClasses) of(program string, argv []string) string {
	c, ok := t[program]
	if !ok {
		return ""
	}
	for rest := afterOptions(program, argv); c.below != nil; rest = rest[min(1, len(rest)):] {
		word := ""
		if len(rest) > 0 {
			word = rest[0]
		}
		if c, ok = c.below[word]; !ok {
			return ""
		}
	}
	return c.with(argv)
}

// with is the class with regard to the words that change it: the last by name
// of those that are there.
func (c commandClass) with(argv []string) string {
	var found []string
	for _, word := range argv {
		name, _, _ := strings.Cut(word, "=")
		if class, ok := c.words[name]; ok {
			found = append(found, class)
		}
	}
	if len(found) == 0 {
		return c.class
	}
	return slices.Max(found)
}

// afterOptions are the words after a program, without the options before its
// subcommand that change nothing but where git works and how it prints.
func afterOptions(program string, argv []string) []string {
	rest := argv[min(1, len(argv)):]
	if program != "git" || len(rest) == 0 {
		return rest
	}
	switch rest[0] {
	case "--no-pager", "--no-optional-locks":
		return rest[1:]
	case "-C":
		return rest[min(2, len(rest)):]
	}
	return rest
}
