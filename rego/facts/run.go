package facts

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// An invocation is a simple command that is about to run.
type invocation struct {
	words   []field
	via     []string // wrappers that were taken off
	assigns []field  // NAME=value before it
	unbound []string // files that it would run besides
	roots   []string // what {} stands for: the folders that find starts in
	narrow  bool     // what {} stands for is told by its name too
	plain   bool     // functions and aliases do not apply
	as      string   // the user as whom it runs, where that is another
}

func (in invocation) under(via string) invocation {
	in.via = slices.Concat(in.via, []string{via})
	return in
}

// simple is a simple command: assignments, words, or both.
func (s *shell) simple(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s.lasting(s.assign(a))
		}
		return
	}
	words, zsh := s.readings(c.Args)
	var in invocation
	if len(c.Assigns) > 0 {
		tmp := s.sub()
		for _, a := range c.Assigns {
			in.assigns = append(in.assigns, tmp.assign(a))
		}
	}
	in.words = words
	if zsh == nil {
		s.run(in)
		return
	}
	other := s.sub()
	s.run(in)
	in.words = zsh
	other.run(in)
	s.merge(other.state())
}

// run takes off what wraps a command, follows what it would run, and lists
// what is left.
func (s *shell) run(in invocation) {
	s.x.Tick()
	if len(in.words) == 0 {
		return
	}
	if s.depth++; s.depth > 4*collect.MaxDepth {
		s.x.Fail("shell: nested deeper than %d", 4*collect.MaxDepth)
		s.depth--
		return
	}
	defer func() { s.depth-- }()

	name := in.name()
	s.environment(&in)
	if !in.plain && s.byName(name, in) {
		return
	}
	if next, ok := s.scriptOf(in); ok {
		s.run(next)
		return
	}
	s.x.Linked = s.x.Linked || wordlist.Has("ln link mount", name)
	if w, ok := wrapperTable()[name]; ok && s.unwrap(w, name, in) {
		return
	}
	if f := followerOf(name); f != nil && f(s, in) {
		return
	}
	s.emit(in)
}

// name is the base name of what runs, in lower case; "" where that depends on
// run time.
func (in invocation) name() string { return strings.ToLower(in.program()) }

func (in invocation) program() string {
	w := in.words[0]
	base := path.Base(w.text)
	if !w.known() || w.text == "" || strings.HasSuffix(w.text, "/") ||
		w.glob && strings.ContainsAny(base, "*?[") || strings.HasPrefix(w.text, "=") {
		return ""
	}
	return base
}

// byName runs what the text itself has defined under this name.
func (s *shell) byName(name string, in invocation) bool {
	word := in.words[0].text
	if alias, ok := s.aliases[word]; ok {
		sub := s.sub(append(in.via, "alias")...)
		delete(sub.aliases, word)
		rest := in.words[1:]
		for strings.HasSuffix(alias, " ") && len(rest) > 0 { // the next word may be an alias, too
			next, ok := s.aliases[rest[0].text]
			if !ok {
				break
			}
			alias, rest = alias+next, rest[1:]
		}
		sub.source(alias + " " + quoteAll(rest))
	}
	f, ok := s.funcs[word]
	if !ok || name == "" || slices.Contains(s.calling, word) {
		return false
	}
	f.used = true
	s.funcs[word] = f
	defer func(env []field) { s.env = env }(s.env)
	s.env = s.overlaid(s.env, in.assigns...)
	s.call(word, f, in.words[1:], true)
	return !f.maybe
}

// call walks a function's body.
func (s *shell) call(name string, f function, args []field, known bool) {
	defer func(c []string) { s.calling = c }(s.calling)
	s.calling = slices.Concat(s.calling, []string{name})
	defer func(src string, params []string, words []field, pk bool) {
		s.src, s.params, s.args, s.paramsKnown = src, params, words, pk
	}(s.src, s.params, s.args, s.paramsKnown)
	defer func(n int) { s.entered = n }(s.entered)
	s.entered = s.conditional
	s.src = f.src
	s.params, s.args, s.paramsKnown = nil, nil, known
	if known && !slices.ContainsFunc(args, func(a field) bool { return a.stdin || a.array }) {
		s.args = args
	}
	for _, a := range args {
		s.params = append(s.params, a.text)
		s.paramsKnown = s.paramsKnown && a.known()
	}
	defer func(l map[string]variable) { s.locals = l }(s.locals)
	s.locals = make(map[string]variable)
	s.within("function", func() { s.stmt(f.body) })
	for name, v := range s.locals {
		s.vars[name] = v
	}
}

// emit lists a command with everything that it touches.
func (s *shell) emit(in invocation) {
	if len(s.x.Facts.Commands) >= collect.MaxCommands {
		s.x.GiveUp("too many commands")
	}
	s.x.Work(len(in.words) / 4)
	c := Command{
		Program: in.program(),
		Via:     slices.Concat(s.via, in.via),
		Stdin:   s.stdin.kind,
		Unbound: in.unbound,
		As:      cmp.Or(in.as, s.as),
		On:      s.on,
	}
	if len(s.dirs) == 1 && s.dirs[0] != s.x.Start() {
		c.Dir = s.dirs[0]
	}
	env := s.overlaid(s.env, in.assigns...)
	c.Env = variables(env)
	for _, a := range env {
		c.Unbound = append(slices.Clip(c.Unbound), loads(c.Program, a)...)
	}
	for _, w := range in.words {
		if w.stdin {
			continue
		}
		c.Argv = append(c.Argv, w.text)
		if strings.Contains(w.text, "://") {
			s.x.URLsIn(w.text)
		}
	}
	c.Unresolved = s.depends(in, c.Program)
	if !in.plain && len(in.words) > 0 && slices.Contains(s.calling, in.words[0].text) {
		c.Unresolved = append(c.Unresolved, in.words[0].text+" calls itself")
	}
	outer, fixed, modes := s.x.Changed, s.x.Fixed, s.x.Modes
	s.x.Changed, s.x.Fixed, s.x.Modes = nil, writesNoContent(in.name()), wordlist.Has("mkdir touch chmod", in.name())
	s.x.Single = in.deletesSingly()
	effects(s, in, &c)
	c.Unresolved = append(c.Unresolved, s.x.Changed...)
	s.x.Changed, s.x.Fixed, s.x.Modes = outer, fixed, modes
	c.Unresolved, c.Unbound = wordlist.Unique(c.Unresolved), wordlist.Unique(c.Unbound)
	if len(c.Via) == 0 {
		c.Via = nil
	}
	hangs(s.x, s, in)
	s.x.Joined(join(slices.Concat(env, in.words), " "))
	key := []string{c.Program, c.Stdin, strings.Join(c.Unresolved, "\x01"), strings.Join(c.Unbound, "\x01"), strings.Join(c.Via, "\x01")}
	for _, a := range env {
		key = append(key, a.text)
	}
	if s.x.Once("command", append(key, c.Argv...)...) {
		s.x.Facts.Commands = append(s.x.Facts.Commands, c)
		s.x.Runs = append(s.x.Runs, s.projectRuns(c))
	}
}

// touch adds a path that a word names.
func (s *shell) touch(f field, access string) {
	if f.stdin || s.quiet || f.within && access == collect.AccessWrite {
		return
	}
	s.x.Linked = s.x.Linked || f.glob && access != collect.AccessRead
	written := f.text
	f = s.here(f)
	text, known := atoms(f)
	if !known && access != collect.AccessRead {
		s.x.Changed = append(s.x.Changed, f.dynamic...)
	}
	made := slices.ContainsFunc(s.taint, func(t string) bool { return t != "" && strings.Contains(f.text, t) })
	s.x.Path(collect.Ref{Text: text, Written: written, Access: access, Dirs: s.dirs, Dynamic: made || !known, Remote: s.remote, Reach: s.reach, Fresh: access == collect.AccessDelete && !made && s.ownTemporary(f)})
}

// output is what a statement would write, where that can be told: an echo, a
// printf or a cat of a here-document.
func (s *shell) output(st *syntax.Stmt) stream {
	unknown := stream{kind: "pipe"}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || !printsAll(st.Redirs) {
		return unknown
	}
	quiet := s.quietly()
	quiet.opensFiles(st.Redirs)
	words := quiet.fields(call.Args)
	if len(words) == 0 || s.overridden(words[0].text) || len(call.Assigns) > 0 {
		return unknown
	}
	for _, w := range words {
		if !w.known() || w.glob {
			return unknown
		}
	}
	args := words[1:]
	switch words[0].text {
	case ":", "true":
		return stream{kind: "pipe", known: true}
	case "cat", "/bin/cat":
		if quiet.stdin.kind == "heredoc" && (len(args) == 0 || len(args) == 1 && args[0].text == "-") {
			return stream{kind: "pipe", text: quiet.stdin.text, known: quiet.stdin.known}
		}
		if len(args) == 1 && !strings.HasPrefix(args[0].text, "-") {
			return stream{kind: "pipe", file: args[0].text}
		}
	case "echo":
		return echo(args)
	case "pwd":
		if len(args) == 0 && len(s.dirs) == 1 && path.IsAbs(s.dirs[0]) {
			return stream{kind: "pipe", text: s.dirs[0] + "\n", known: true}
		}
	case "basename", "dirname":
		return pathPart(words[0].text, args)
	case "mktemp":
		return s.temporary(args)
	case "printf":
		if len(args) == 1 && !strings.ContainsAny(args[0].text, `%`) {
			return stream{kind: "pipe", text: ansiC(args[0].text), known: true}
		}
		if len(args) > 1 && slices.Contains([]string{"%s", `%s\n`, "%s ", `%s\0`, "%b", `%b\n`}, args[0].text) {
			sep := ansiC(args[0].text[2:])
			return stream{kind: "pipe", text: join(args[1:], sep) + sep, known: !strings.Contains(join(args[1:], ""), `\`)}
		}
	}
	return unknown
}

// printsAll reports whether redirections leave standard output as it is, and cannot
// fail: a command whose file is missing prints nothing.
func printsAll(list []*syntax.Redirect) bool {
	for _, r := range list {
		here := r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc
		messages := r.N != nil && r.N.Value == "2" && (r.Op == syntax.RdrOut && r.Word.Lit() == "/dev/null" || r.Op == syntax.DplOut)
		if !here && !messages {
			return false
		}
	}
	return true
}

// pathPart is what basename and dirname print of one path.
func pathPart(name string, args []field) stream {
	unknown := stream{kind: "pipe"}
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0].text, "-") || args[0].text == "":
		return unknown
	case name == "dirname" && len(args) == 1:
		return stream{kind: "pipe", text: path.Dir(strings.TrimRight(args[0].text, "/")) + "\n", known: true}
	case name == "basename" && len(args) == 1:
		return stream{kind: "pipe", text: path.Base(args[0].text) + "\n", known: true}
	case name == "basename" && len(args) == 2:
		return stream{kind: "pipe", text: strings.TrimSuffix(path.Base(args[0].text), args[1].text) + "\n", known: true}
	}
	return unknown
}

// temporary is what mktemp prints: its template, where nothing says that it is
// another. All that it makes in /tmp goes by one name here.
func (s *shell) temporary(args []field) stream {
	if _, moved := s.vars["TMPDIR"]; moved || s.wild {
		return stream{kind: "pipe"}
	}
	end := ""
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1].text
		}
		suffix, ends := strings.CutPrefix(a.text, "--suffix=")
		switch {
		case before == "-p" && a.text == "/tmp", before == "-t" && mktempTemplate.MatchString("/tmp/"+a.text), wordlist.Has("-d -q -u -t -p --directory --quiet --tmpdir --tmpdir=/tmp", a.text):
		case ends && mktempEnd.MatchString(suffix):
			end = suffix
		case mktempTemplate.MatchString(a.text):
			end = mktempTemplate.FindStringSubmatch(a.text)[2]
		default:
			return stream{kind: "pipe"}
		}
	}
	return stream{kind: "pipe", text: mktempName + end + "\n", known: true}
}

var (
	mktempTemplate = regexp.MustCompile(`^/tmp/([\w-][\w.-]*)?XXX+(\.\w+)?$`)
	mktempEnd      = regexp.MustCompile(`^\.\w+$`)
)

func echo(args []field) stream {
	escapes := false
	for len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' && strings.Trim(args[0].text[1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0].text, "e")
		args = args[1:]
	}
	text := join(args, " ")
	if escapes {
		text = ansiC(text)
	}
	// Some shells read the escapes in any case.
	return stream{kind: "pipe", text: text + "\n", known: escapes || !strings.Contains(text, `\`)}
}

func join(fs []field, sep string) string {
	var texts []string
	for _, f := range fs {
		texts = append(texts, f.text)
	}
	return strings.Join(texts, sep)
}

// quoteAll writes fields as shell words that expand to themselves. Parts that
// depend on run time stay as they were written.
func quoteAll(fs []field) string {
	var words []string
	for _, f := range fs {
		q, err := syntax.Quote(f.text, syntax.LangBash)
		if !f.known() || f.glob || err != nil {
			q = f.text
		}
		words = append(words, q)
	}
	return strings.Join(words, " ")
}
