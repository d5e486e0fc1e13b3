// Package snippet reads the small programs that agents hand to an interpreter
// (python3 -c, node -e), and tells what they touch: which files they read,
// write and delete, and which commands they run. It tells a program that reads
// files, prints and computes from one that does what cannot be seen.
//
// Python and JavaScript are parsed (python, javascript) into one kind of tree, and what
// their variables may hold is followed (flow). awk and sed (filter), Perl (perl) and other
// languages (named) are read word by word.
package snippet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/filter"
	"github.com/holdgate/holdgate/rego/facts/snippet/flow"
	"github.com/holdgate/holdgate/rego/facts/snippet/javascript"
	"github.com/holdgate/holdgate/rego/facts/snippet/named"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/perl"
	"github.com/holdgate/holdgate/rego/facts/snippet/python"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
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
		program, err := python.Parse(code)
		if err != nil {
			return outcome.Effects{}, err
		}
		return flow.Python(program)
	case "awk":
		return filter.Awk(code)
	case "sed":
		return filter.Sed(code)
	case "go":
		return named.Go(code)
	case "perl":
		return perl.Read(code, nil, false)
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
		parse := javascript.ParseTyped
		if language == "node" {
			parse = func(code string) (*tree.Expr, error) { return javascript.Parse(code, false) }
		}
		program, err := parse(code)
		if err != nil {
			return outcome.Effects{}, err
		}
		return flow.Script(program, language == "bun" || language == "deno")
	}
	return outcome.Effects{}, fmt.Errorf("the language %q is not read", language)
}

// ReadPerl tells what a program of Perl does that is started with modules of its own,
// as by -MList::Util=sum, and is run for each line of its files where loops is true.
func ReadPerl(code string, modules []string, loops bool) (outcome.Effects, error) {
	return perl.Read(code, modules, loops)
}

// Known reports whether programs in a language are read. JavaScript goes by the
// program that runs it.
func Known(language string) bool {
	return slices.Contains([]string{"python", "node", "bun", "deno", "tsx", "ts-node", "awk", "sed", "go", "perl", "ruby", "php", "lua", "java", "rust", "zig", "r"}, language)
}

// PythonModule reports whether a module is one that is known of Python: its own, or of a
// library that computes.
func PythonModule(name string) bool { return flow.PythonModule(name) }
