package facts

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/programs"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/sql"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// maxArgumentDepth is how deep objects inside of arguments are read.
const maxArgumentDepth = 32

// arguments reads what a tool is told to do.
func arguments(x *collect.Findings, kind toolKind, args map[string]any) {
	if kind.access == "-" {
		kind.access = collect.AccessWrite
	}
	if v, ok := verbOf(kind, args); ok {
		x.Facts.Category, kind.access = v, v
	}
	if looksOnly(kind, args) {
		x.Facts.Category = collect.AccessRead
	}
	dir := x.Start()
	for _, k := range sortedKeys(args) {
		if s, ok := args[k].(string); ok && kind.role(k) == roleDir && s != "" {
			dir = x.CleanDir(s)
		}
	}
	if words, ok := awsWords(kind, args); ok {
		shell.New(x, dir, programs.Table()).Run(shell.Invocation{Words: words})
	}
	kind.moved = moved(x, kind, args, dir)
	edited(x, kind, args, dir)
	object(x, kind, args, dir, 0)
}

// moved is how a tool that moves files touches those that it takes away: they
// are deleted, unless they stay in the session's folder under another name.
func moved(x *collect.Findings, kind toolKind, args map[string]any, dir string) string {
	var target []argv.Field
	for k, v := range args {
		if s, ok := v.(string); ok && kind.role(k) == roleWrite {
			target = append(target, argv.Field{Text: s})
		}
	}
	if programs.Keeps(shell.New(x, dir, programs.Table()), target, nil) {
		return collect.AccessWrite
	}
	return collect.AccessDelete
}

// verbOf reads what a text editor or patch tool is to do: whether it views,
// changes or deletes.
func verbOf(kind toolKind, args map[string]any) (string, bool) {
	for key, r := range kind.args {
		if r != roleVerb {
			continue
		}
		switch s, _ := args[key].(string); s {
		case "view":
			return collect.AccessRead, true
		case "delete", "delete_file":
			return collect.AccessDelete, true
		}
		return collect.AccessWrite, true
	}
	return "", false
}

// lookActions are what a tool that works a screen does without changing
// anything.
const lookActions = "screenshot wait zoom cursor_position mouse_move move scroll"

// looksOnly reports whether all that a tool is to do at a screen is to look.
func looksOnly(kind toolKind, args map[string]any) bool {
	looks := false
	for key, v := range args {
		if kind.args[normal(key)] != roleAct {
			continue
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			if o, ok := e.(map[string]any); ok {
				e = o["type"]
			}
			if name, ok := e.(string); !ok || !wordlist.Has(lookActions, name) {
				return false
			}
			looks = true
		}
	}
	return looks
}

// role says what the tool does with the argument of this key.
func (k toolKind) role(key string) role {
	n := normal(key)
	if r, ok := k.args[n]; ok {
		return r
	}
	if r, ok := tables().keys[n]; ok {
		return r
	}
	return roleByName(n)
}

// roleByName guesses at a key that no table names, by how it ends and begins.
func roleByName(n string) role {
	place := slices.ContainsFunc([]string{"dir", "path", "file", "folder", "directory", "filename"}, func(end string) bool { return strings.HasSuffix(n, end) })
	switch {
	case !place || n == "profile":
		return roleNone
	case slices.ContainsFunc([]string{"output", "out", "dest", "save", "export", "log"}, func(start string) bool { return strings.HasPrefix(n, start) }):
		return roleWrite
	}
	return rolePath
}

func object(x *collect.Findings, kind toolKind, args map[string]any, dir string, depth int) {
	if depth > maxArgumentDepth {
		x.Fail("arguments nested deeper than %d", maxArgumentDepth)
		return
	}
	defer func(at *collect.Place) { x.At = at }(x.At)
	whole := x.At
	for _, k := range sortedKeys(args) {
		x.Tick()
		x.At = &collect.Place{In: whole, Key: k}
		r := kind.role(k)
		if r == roleCommand {
			sh := shellBeside(x, kind, args, dir)
			if text, ok := args[k].(string); ok && kind.away != "" {
				sh.Run(shell.Invocation{Words: []argv.Field{{Text: "ssh"}, {Text: kind.away}, {Text: text}}})
				continue
			}
			command(x, args[k], commandWords(args), sh)
			noteLeft(x, sh)
			if text, ok := args[k].(string); ok && x.UnlikeDash {
				again := shellBeside(x, kind, args, dir)
				again.Dash = true
				command(x, text, commandWords(args), again)
			}
			continue
		}
		if lines, ok := args[k].([]any); ok && r == roleLines {
			readLines(x, kind, lines, args, dir, depth)
			continue
		}
		value(x, kind, r, args[k], dir, depth)
	}
}

func value(x *collect.Findings, kind toolKind, r role, v any, dir string, depth int) {
	x.Tick()
	switch v := v.(type) {
	case string:
		argument(x, kind, r, v, dir)
	case []any:
		if depth > maxArgumentDepth {
			x.Fail("arguments nested deeper than %d", maxArgumentDepth)
			return
		}
		defer func(at *collect.Place) { x.At = at }(x.At)
		list := x.At
		for i, e := range v {
			x.At = &collect.Place{In: list, Index: i, Listed: true}
			value(x, kind, r, e, dir, depth+1)
		}
	case map[string]any:
		object(x, kind, v, dir, depth+1)
	}
}

// argument reads one string in its role.
func argument(x *collect.Findings, kind toolKind, r role, s, dir string) {
	switch r {
	case rolePath:
		argumentPath(x, s, kind.access, dir)
		if kind.deep {
			x.Path(collect.Ref{Text: s, Access: collect.AccessRead, Dirs: collect.DirsOf(dir), Reach: collect.ReachBeneath})
		}
	case roleRead, rolePattern:
		argumentPath(x, s, collect.AccessRead, dir)
	case roleWrite:
		argumentPath(x, s, collect.AccessWrite, dir)
	case roleDelete:
		argumentPath(x, s, collect.AccessDelete, dir)
	case roleMove:
		x.Renames = true
		argumentPath(x, s, kind.moved, dir)
		x.Renames = false
	case rolePatch:
		x.Patch(s, collect.DirsOf(dir))
	case roleURL:
		x.URL(s)
	case roleURLs:
		x.URLsIn(s)
	case roleSQL:
		x.SQL(s)
	case roleQuery:
		if sql.LooksLike(s) {
			x.SQL(s)
		}
	case roleTyped:
		typed(x, s, dir)
	case roleLines:
		shell.New(x, dir, programs.Table()).Source(s)
	case roleNone:
		if strings.Contains(s, "://") {
			x.URLsIn(s)
		}
	}
}

func argumentPath(x *collect.Findings, s, access, dir string) {
	if s == "" {
		return
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok && scheme != "file" {
		x.URL(s)
		return
	}
	x.Path(collect.Ref{Text: s, Access: access, Dirs: collect.DirsOf(dir)})
}

// command reads what is to be run: a shell line, or a list of words. More
// words may stand in a key of their own, as in {"command": "git", "args": []}.
func command(x *collect.Findings, v any, more []argv.Field, sh *shell.Shell) {
	switch v := v.(type) {
	case string:
		if more != nil {
			x.At = x.At.In // the words stand in two arguments
			sh.Run(shell.Invocation{Words: append([]argv.Field{{Text: v}}, more...)})
			return
		}
		sh.Source(v)
	case []any:
		words := literals(v)
		if len(words) != len(v) {
			x.Fail("command list holds more than strings")
		}
		if more != nil {
			x.At = x.At.In
		}
		sh.Run(shell.Invocation{Words: append(words, more...)})
	default:
		x.Fail("command is neither text nor list")
	}
}

// readLines reads a list of what is to be run one after the other: shell lines, or
// objects and lists that say what a command alone would. Some tools run every
// line in a shell of its own and some all in one, so both are followed.
func readLines(x *collect.Findings, kind toolKind, list []any, args map[string]any, dir string, depth int) {
	if all := literals(list); len(all) > 1 && len(all) == len(list) {
		texts := make([]string, len(all))
		for i, line := range all {
			texts[i] = line.Text
		}
		sh := shellBeside(x, kind, args, dir)
		sh.Source(strings.Join(texts, "\n"))
		noteLeft(x, sh)
	}
	defer func(at *collect.Place) { x.At = at }(x.At)
	whole := x.At
	for i, e := range list {
		x.Tick()
		x.At = &collect.Place{In: whole, Index: i, Listed: true}
		switch e := e.(type) {
		case string, []any:
			command(x, e, nil, shellBeside(x, kind, args, dir))
		case map[string]any:
			object(x, kind, e, dir, depth+1)
		default:
			x.Fail("commands hold what is neither text nor list nor object")
		}
	}
}

// commandWords are the words beside a command in a key named args.
func commandWords(args map[string]any) []argv.Field {
	list, _ := args["args"].([]any)
	return literals(list)
}

func literals(list []any) []argv.Field {
	var words []argv.Field
	for _, e := range list {
		if s, ok := e.(string); ok {
			words = append(words, argv.Field{Text: s})
		}
	}
	return words
}

// typed reads keys that go to a program which already runs. It may be a
// shell, so they are read as one; what runs there is not known.
func typed(x *collect.Findings, s, dir string) {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, s)
	if strings.TrimSpace(s) == "" {
		return
	}
	sh := shell.New(x, dir, programs.Table())
	sh.Via, sh.Taint = []string{"stdin"}, []string{"stdin"}
	sh.Lose()
	sh.Source(s)
}

// scan reads every string of the arguments for what text alone shows.
func scan(x *collect.Findings, at *collect.Place, v any) {
	x.Tick()
	switch v := v.(type) {
	case string:
		x.Text(at, v)
	case []any:
		for i, e := range v {
			scan(x, &collect.Place{In: at, Index: i, Listed: true}, e)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			x.Text(at, k) // hidden with all that it is a name in
			if k == "__proto__" {
				// JavaScript that copies the object reads its members as the object's own.
				x.Fail("an argument is named __proto__, whose members some agents take for arguments")
			}
			scan(x, &collect.Place{In: at, Key: k}, v[k])
		}
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
