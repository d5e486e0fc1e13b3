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

	"github.com/holdgate/holdgate/rego/facts/snippet/named"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// maxLines bounds a program that is read.
const maxLines = 10_000

// Read tells what a program does. Of languages that [Known] does not name
// nothing is known. Work is bounded, and a program that takes more is an error,
// as one that cannot be read is.
func Read(language, code string) (outcome.Effects, error) {
	if len(code) > outcome.MaxBytes || strings.Count(code, "\n") > maxLines {
		return outcome.Effects{}, fmt.Errorf("a program of more than %d bytes or %d lines", outcome.MaxBytes, maxLines)
	}
	switch language {
	case "python":
		program, err := parsePython(code)
		if err != nil {
			return outcome.Effects{}, err
		}
		return followPython(program)
	case "awk":
		return named.Awk(code)
	case "sed":
		return named.Sed(code)
	case "go":
		return named.Go(code)
	case "perl":
		return named.Perl(code, nil)
	case "ruby":
		return named.Ruby(code)
	case "php":
		return named.PHP(code)
	case "lua":
		return named.Lua(code)
	case "java":
		return named.Java(code)
	case "rust":
		return named.Rust(code)
	case "zig":
		return named.Zig(code)
	case "r":
		return named.R(code)
	case "node", "bun", "deno", "tsx", "ts-node":
		parse := parseTyped
		if language == "node" {
			parse = func(code string) (*expr, error) { return parseScript(code, false) }
		}
		program, err := parse(code)
		if err != nil {
			return outcome.Effects{}, err
		}
		return followScript(program, language == "bun" || language == "deno")
	}
	return outcome.Effects{}, fmt.Errorf("the language %q is not read", language)
}

// ReadPerl tells what a program of Perl does that is started with modules of its own,
// as by -MList::Util=sum.
func ReadPerl(code string, modules []string) (outcome.Effects, error) {
	return named.Perl(code, modules)
}

// Known reports whether programs in a language are read. JavaScript goes by the
// program that runs it.
func Known(language string) bool {
	return slices.Contains([]string{"python", "node", "bun", "deno", "tsx", "ts-node", "awk", "sed", "go", "perl", "ruby", "php", "lua", "java", "rust", "zig", "r"}, language)
}
