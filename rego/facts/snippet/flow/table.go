package flow

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// A table says what the modules, functions and types of a language do.
type table struct {
	modules map[string]map[string]*spec // members of modules; "" has the names that need no import
	types   map[string]map[string]*spec // attributes and methods of types
	number  string                      // the kind of a number
	script  bool                        // of JavaScript: an attribute and an element are one
}

// A spec is what is known of one name.
type spec struct {
	name    string // with its module or type, for people
	effects []effect
	result  string // what a call of it, or it itself, yields
	call    bool   // it is called; else it is a value
	special string // it is a case of its own, see special
	loose   bool   // of a library that computes, most of whose names no row has
}

// An effect is what happens to an argument.
type effect struct {
	what string // read, write, delete, run
	at   int    // of the arguments; -1 is the receiver
	key  string // the argument's name, where it has one
}

// PythonModule reports whether a module is one of those that the table of Python knows.
func PythonModule(name string) bool { return name != "" && pythonTable().modules[name] != nil }

//go:embed tables/python.txt
var pythonTableText string

//go:embed tables/javascript.txt
var scriptTableText string

var (
	pythonTable = sync.OnceValue(func() *table { return readTable(pythonTableText) })
	scriptTable = sync.OnceValue(func() *table {
		t := readTable(scriptTableText)
		t.number, t.script = kindNumber, true
		return t
	})
)

// readTable reads a table: "[module]" or "<type>" and below it names, by blanks.
// A name is harmless, and a call of it yields data. NAME=EFFECT,...->RESULT says
// more: effects are read:0 and the like, of an argument's number and name
// (read:0/file) or the receiver (read:self). "&name" is a value that is no
// function. "#" begins a comment.
func readTable(text string) *table {
	t := &table{number: kindPart, modules: make(map[string]map[string]*spec), types: make(map[string]map[string]*spec)}
	var section map[string]*spec
	title := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") || strings.HasPrefix(line, "<") {
			group := t.modules
			if line[0] == '<' {
				group = t.types
			}
			head, rest, _ := strings.Cut(line[1:], string(line[0]+2))
			section, line = make(map[string]*spec), rest
			title, _, _ = strings.Cut(head, " ")
			for h := range strings.FieldsSeq(head + strings.Repeat(" _", max(0, 1-len(head)))) {
				group[strings.TrimPrefix(h, "_")] = section
			}
		}
		for word := range strings.FieldsSeq(line) {
			name, s := readSpec(title, word)
			section[name] = s
			s.loose = section["*"] != nil || name == "()"
		}
	}
	return t
}

func readSpec(title, word string) (string, *spec) {
	s := &spec{call: true, result: kindAny}
	word, result, found := strings.Cut(word, "->")
	if found {
		s.result = strings.ReplaceAll(result, ":", " ")
	}
	name, effects, _ := strings.Cut(word, "=")
	if strings.HasPrefix(name, "&") && strings.HasSuffix(word, "=") {
		name = name[1:] + "=" // its elements and attributes, or one of them, may be assigned to
	}
	if strings.HasPrefix(name, "&") {
		name, s.call = name[1:], false
	}
	s.name = strings.TrimPrefix(title+"."+name, ".")
	for e := range strings.SplitSeq(effects, ",") {
		what, at, ok := strings.Cut(e, ":")
		if !ok {
			s.special = what
			continue
		}
		f := effect{what: what}
		at, f.key, _ = strings.Cut(at, "/")
		if at == "self" {
			f.at = -1
		} else if _, err := fmt.Sscan(at, &f.at); err != nil {
			panic(fmt.Sprintf("the row %s of a table: %v", word, err))
		}
		s.effects = append(s.effects, f)
	}
	return name, s
}
