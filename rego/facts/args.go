package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/sql"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// maxArgumentDepth is how deep objects inside of arguments are read.
const maxArgumentDepth = 32

// arguments reads what a tool is told to do.
func (x *extraction) arguments(kind toolKind, args map[string]any) {
	if kind.access == "-" {
		kind.access = accessWrite
	}
	if v, ok := verbOf(kind, args); ok {
		x.facts.Category, kind.access = v, v
	}
	if looksOnly(kind, args) {
		x.facts.Category = accessRead
	}
	dir := x.start()
	for _, k := range sortedKeys(args) {
		if s, ok := args[k].(string); ok && kind.role(k) == roleDir && s != "" {
			dir = x.cleanDir(s)
		}
	}
	if words, ok := awsWords(kind, args); ok {
		newShell(x, dir).run(invocation{words: words})
	}
	kind.moved = x.moved(kind, args, dir)
	x.edited(kind, args, dir)
	x.object(kind, args, dir, 0)
}

// moved is how a tool that moves files touches those that it takes away: they
// are deleted, unless they stay in the session's folder under another name.
func (x *extraction) moved(kind toolKind, args map[string]any, dir string) string {
	var target []field
	for k, v := range args {
		if s, ok := v.(string); ok && kind.role(k) == roleWrite {
			target = append(target, field{text: s})
		}
	}
	if newShell(x, dir).keeps(target, nil) {
		return accessWrite
	}
	return accessDelete
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
			return accessRead, true
		case "delete", "delete_file":
			return accessDelete, true
		}
		return accessWrite, true
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

func (x *extraction) object(kind toolKind, args map[string]any, dir string, depth int) {
	if depth > maxArgumentDepth {
		x.fail("arguments nested deeper than %d", maxArgumentDepth)
		return
	}
	defer func(at *place) { x.at = at }(x.at)
	whole := x.at
	for _, k := range sortedKeys(args) {
		x.Tick()
		x.at = &place{in: whole, key: k}
		r := kind.role(k)
		if r == roleCommand {
			sh := x.shellBeside(kind, args, dir)
			x.command(args[k], commandWords(args), sh)
			x.leaves(sh)
			if text, ok := args[k].(string); ok && x.unlikeDash {
				again := x.shellBeside(kind, args, dir)
				again.dash = true
				x.command(text, commandWords(args), again)
			}
			continue
		}
		if lines, ok := args[k].([]any); ok && r == roleLines {
			x.lines(kind, lines, args, dir, depth)
			continue
		}
		x.value(kind, r, args[k], dir, depth)
	}
}

func (x *extraction) value(kind toolKind, r role, v any, dir string, depth int) {
	x.Tick()
	switch v := v.(type) {
	case string:
		x.argument(kind, r, v, dir)
	case []any:
		if depth > maxArgumentDepth {
			x.fail("arguments nested deeper than %d", maxArgumentDepth)
			return
		}
		defer func(at *place) { x.at = at }(x.at)
		list := x.at
		for i, e := range v {
			x.at = &place{in: list, index: i, listed: true}
			x.value(kind, r, e, dir, depth+1)
		}
	case map[string]any:
		x.object(kind, v, dir, depth+1)
	}
}

// argument reads one string in its role.
func (x *extraction) argument(kind toolKind, r role, s, dir string) {
	switch r {
	case rolePath:
		x.argumentPath(s, kind.access, dir)
		if kind.deep {
			x.path(pathRef{text: s, access: accessRead, dirs: dirsOf(dir), reach: reachBeneath})
		}
	case roleRead, rolePattern:
		x.argumentPath(s, accessRead, dir)
	case roleWrite:
		x.argumentPath(s, accessWrite, dir)
	case roleDelete:
		x.argumentPath(s, accessDelete, dir)
	case roleMove:
		x.argumentPath(s, kind.moved, dir)
	case rolePatch:
		x.patch(s, dirsOf(dir))
	case roleURL:
		x.url(s)
	case roleURLs:
		x.urlsIn(s)
	case roleSQL:
		x.sql(s)
	case roleQuery:
		if sql.LooksLike(s) {
			x.sql(s)
		}
	case roleTyped:
		x.typed(s, dir)
	case roleLines:
		newShell(x, dir).source(s)
	case roleNone:
		if strings.Contains(s, "://") {
			x.urlsIn(s)
		}
	}
}

func (x *extraction) argumentPath(s, access, dir string) {
	if s == "" {
		return
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok && scheme != "file" {
		x.url(s)
		return
	}
	x.path(pathRef{text: s, access: access, dirs: dirsOf(dir)})
}

// command reads what is to be run: a shell line, or a list of words. More
// words may stand in a key of their own, as in {"command": "git", "args": []}.
func (x *extraction) command(v any, more []field, sh *shell) {
	switch v := v.(type) {
	case string:
		if more != nil {
			x.at = x.at.in // the words stand in two arguments
			sh.run(invocation{words: append([]field{{text: v}}, more...)})
			return
		}
		sh.source(v)
	case []any:
		words := literals(v)
		if len(words) != len(v) {
			x.fail("command list holds more than strings")
		}
		if more != nil {
			x.at = x.at.in
		}
		sh.run(invocation{words: append(words, more...)})
	default:
		x.fail("command is neither text nor list")
	}
}

// lines reads a list of what is to be run one after the other: shell lines, or
// objects and lists that say what a command alone would. Some tools run every
// line in a shell of its own and some all in one, so both are followed.
func (x *extraction) lines(kind toolKind, list []any, args map[string]any, dir string, depth int) {
	if all := literals(list); len(all) > 1 && len(all) == len(list) {
		texts := make([]string, len(all))
		for i, line := range all {
			texts[i] = line.text
		}
		sh := x.shellBeside(kind, args, dir)
		sh.source(strings.Join(texts, "\n"))
		x.leaves(sh)
	}
	defer func(at *place) { x.at = at }(x.at)
	whole := x.at
	for i, e := range list {
		x.Tick()
		x.at = &place{in: whole, index: i, listed: true}
		switch e := e.(type) {
		case string, []any:
			x.command(e, nil, x.shellBeside(kind, args, dir))
		case map[string]any:
			x.object(kind, e, dir, depth+1)
		default:
			x.fail("commands hold what is neither text nor list nor object")
		}
	}
}

// commandWords are the words beside a command in a key named args.
func commandWords(args map[string]any) []field {
	list, _ := args["args"].([]any)
	return literals(list)
}

func literals(list []any) []field {
	var words []field
	for _, e := range list {
		if s, ok := e.(string); ok {
			words = append(words, field{text: s})
		}
	}
	return words
}

// typed reads keys that go to a program which already runs. It may be a
// shell, so they are read as one; what runs there is not known.
func (x *extraction) typed(s, dir string) {
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
	sh := newShell(x, dir)
	sh.via, sh.taint = []string{"stdin"}, []string{"stdin"}
	sh.lose()
	sh.source(s)
}

// scan reads every string of the arguments for what text alone shows.
func (x *extraction) scan(at *place, v any) {
	x.Tick()
	switch v := v.(type) {
	case string:
		x.text(at, v)
	case []any:
		for i, e := range v {
			x.scan(&place{in: at, index: i, listed: true}, e)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			x.text(at, k) // hidden with all that it is a name in
			if k == "__proto__" {
				// JavaScript that copies the object reads its members as the object's own.
				x.fail("an argument is named __proto__, whose members some agents take for arguments")
			}
			x.scan(&place{in: at, key: k}, v[k])
		}
	}
}

// A place is where in a call something stands: nil is the whole. It is written
// out as a pointer only where something is found, which is seldom.
type place struct {
	in     *place
	key    string
	index  int
	listed bool // index counts, and not key
	text   bool // what is below stands written out in this one text, which has no pointers of its own
}

// pointer is the place as a JSON pointer (RFC 6901).
func (p *place) pointer() string {
	for q := p; q != nil; q = q.in {
		if q.text {
			p = q
		}
	}
	switch {
	case p == nil:
		return ""
	case p.listed:
		return p.in.pointer() + "/" + strconv.Itoa(p.index)
	}
	return p.in.pointer() + "/" + pointerEscape.Replace(p.key)
}

// pointerEscape writes a key as a token of a JSON pointer.
var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// text looks at one string for credentials and deceiving characters.
func (x *extraction) text(at *place, s string) {
	x.suspicious(s)
	x.secrets(at, s)
}

// patch reads the paths out of an apply_patch text.
func (x *extraction) patch(s string, dirs []string) {
	found := false
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		for _, op := range patchOps {
			if name, ok := strings.CutPrefix(line, op.prefix); ok {
				found = true
				x.path(pathRef{text: strings.TrimSpace(name), access: op.access, dirs: dirs})
			}
		}
	}
	if !found && strings.TrimSpace(s) != "" {
		x.fail("patch names no file")
	}
}

// patchOps are the lines of an apply_patch text that name files.
var patchOps = []struct{ prefix, access string }{
	{"*** Add File:", accessWrite},
	{"*** Update File:", accessWrite},
	{"*** Delete File:", accessDelete},
	{"*** Move to:", accessWrite},
	{"+++ b/", accessWrite},
}

// sql reads SQL text and adds its statements.
func (x *extraction) sql(s string) {
	var found sql.Reading
	defer func() { // what was found stands, also where the work is given up
		for _, p := range found.Problems {
			x.fail("sql: %s", p)
		}
		for _, st := range found.Statements {
			key := []string{st.Verb, st.Object, strconv.FormatBool(st.Where), strconv.Itoa(st.Rows)}
			if x.once("sql", append(key, st.Tables...)...) {
				x.facts.SQL = append(x.facts.SQL, st)
			}
		}
		for _, f := range found.Files {
			if strings.Contains(f.Name, "://") {
				x.url(f.Name)
				continue
			}
			x.path(pathRef{text: f.Name, access: f.Access, dirs: dirsOf(x.start())})
		}
	}()
	sql.Parse(s, x.Budget, &found)
}
