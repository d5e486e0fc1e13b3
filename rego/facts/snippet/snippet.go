// Package snippet reads the small programs that agents hand to an interpreter
// (python3 -c, node -e), and tells what they touch: which files they read,
// write and delete, and which commands they run. It tells a program that reads
// files, prints and computes from one that does what cannot be seen.
//
// A program is parsed by a strict reader of its language into expressions
// (expr.go), and what its variables may hold is worked out for the program as a
// whole (value.go, walk.go): no order of statements is kept, every branch runs,
// and a function that is handed on is called with whatever it may get. What
// modules, functions and methods do stands in tables (tables/*.txt). All that no
// table names is said to be unseen (Effects.Unseen), and so is a file whose path
// is not known: the tables allow, and nothing is refused by name.
//
// Modules are taken to be what the language's own distribution has under their
// names, for a project that shadows one runs its own code, as its tests do.
package snippet

import (
	"fmt"
	"slices"
	"strings"
)

// Effects are what a program may do.
type Effects struct {
	Reads, Writes, Deletes []Place
	Trees                  bool       // folders are deleted with what is in them
	Shell                  []string   // lines that it hands to a shell
	Commands               [][]string // programs that it starts, with their arguments
	Project                []string   // modules of the project that it loads, as in "shop.money"
	Unseen                 []string   // what cannot be seen, in words
}

// A Place is a file, or what lies below a folder.
type Place struct {
	Path    string
	Below   bool   // files below Path, at any depth
	Up      bool   // Path itself is meant, too
	Pattern string // of the names of those files; empty where any name is meant
}

// String writes a place as a shell would: a folder's files are a pattern.
func (p Place) String() string {
	if !p.Below {
		return p.Path
	}
	pattern := p.Pattern
	if pattern == "" {
		pattern = "*"
	}
	return strings.TrimSuffix(p.Path, "/") + "/" + pattern
}

// maxBytes and maxLines bound a program that is read.
const (
	maxBytes = 64 << 10
	maxLines = 10_000
)

// Read tells what a program does. Of languages that [Known] does not name
// nothing is known. Work is bounded, and a program that takes more is an error,
// as one that cannot be read is.
func Read(language, code string) (Effects, error) {
	if len(code) > maxBytes || strings.Count(code, "\n") > maxLines {
		return Effects{}, fmt.Errorf("a program of more than %d bytes or %d lines", maxBytes, maxLines)
	}
	switch language {
	case "python":
		program, err := parsePython(code)
		if err != nil {
			return Effects{}, err
		}
		return newWalker(pythonTable()).program(program)
	case "awk":
		return readAwk(code)
	case "sed":
		return readSed(code)
	case "go":
		return readGo(code)
	case "perl":
		return readPerl(code, nil)
	case "ruby":
		return readRuby(code)
	case "php":
		return readPHP(code)
	case "lua":
		return readLua(code)
	case "c":
		return readC(code)
	case "java":
		return readJava(code)
	case "rust":
		return readRust(code)
	case "zig":
		return readZig(code)
	case "r":
		return readR(code)
	case "node", "bun", "deno", "tsx", "ts-node":
		parse := parseTyped
		if language == "node" {
			parse = func(code string) (*expr, error) { return parseScript(code, false) }
		}
		program, err := parse(code)
		if err != nil {
			return Effects{}, err
		}
		w := newWalker(scriptTable())
		w.remote = language == "bun" || language == "deno"
		return w.program(program)
	}
	return Effects{}, fmt.Errorf("the language %q is not read", language)
}

// ReadPerl tells what a program of Perl does that is started with modules of its own,
// as by -MList::Util=sum.
func ReadPerl(code string, modules []string) (Effects, error) { return readPerl(code, modules) }

// Known reports whether programs in a language are read. JavaScript goes by the
// program that runs it.
func Known(language string) bool {
	return slices.Contains([]string{"python", "node", "bun", "deno", "tsx", "ts-node", "awk", "sed", "go", "perl", "ruby", "php", "lua", "c", "java", "rust", "zig", "r"}, language)
}
