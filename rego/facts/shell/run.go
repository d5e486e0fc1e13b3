package shell

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/environ"
	"github.com/holdgate/holdgate/rego/facts/grammar"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// An Invocation is a simple command that is about to run.
type Invocation struct {
	Words   []argv.Field
	Via     []string     // wrappers that were taken off
	Assigns []argv.Field // NAME=value before it
	Unbound []string     // files that it would run besides
	Roots   []string     // what {} stands for: the folders that find starts in
	Narrow  bool         // what {} stands for is told by its name too
	Named   string       // the only name of what {} stands for, below a root; empty: not known
	Deletes bool         // what it deletes is told when it has been noted
	Plain   bool         // functions and aliases do not apply
	as      string       // the user as whom it runs, where that is another
}

// Under is the invocation with one more wrapper taken off.
func (in Invocation) Under(via string) Invocation {
	in.Via = slices.Concat(in.Via, []string{via})
	return in
}

// simple is a simple command: assignments, words, or both.
func (s *Shell) simple(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s.lasting(s.assign(a))
		}
		return
	}
	words, zsh := s.readings(c.Args)
	var in Invocation
	if len(c.Assigns) > 0 {
		tmp := s.Sub()
		for _, a := range c.Assigns {
			in.Assigns = append(in.Assigns, tmp.assign(a))
		}
	}
	in.Words = words
	if zsh == nil {
		s.Run(in)
		return
	}
	other := s.Sub()
	s.Run(in)
	in.Words = zsh
	other.Run(in)
	s.merge(other.state())
}

// Run takes off what wraps a command, follows what it would run, and lists
// what is left.
func (s *Shell) Run(in Invocation) {
	s.Found.Tick()
	if len(in.Words) == 0 {
		return
	}
	if s.depth++; s.depth > 4*collect.MaxDepth {
		s.Found.Fail("shell: nested deeper than %d", 4*collect.MaxDepth)
		s.depth--
		return
	}
	defer func() { s.depth-- }()

	name := in.Name()
	s.environment(&in)
	if !in.Plain && s.byName(name, in) {
		return
	}
	if next, ok := s.scriptOf(in); ok {
		s.Run(next)
		return
	}
	s.Found.Linked = s.Found.Linked || wordlist.Has("ln link mount", name)
	if w, ok := WrapperTable()[name]; ok && s.unwrap(w, name, in) {
		return
	}
	if f := s.Follows(name); f != nil && f(s, in) {
		return
	}
	s.Emit(in)
}

// Name is the base name of what runs, in lower case; "" where that depends on
// run time.
func (in Invocation) Name() string { return strings.ToLower(in.program()) }

func (in Invocation) program() string {
	w := in.Words[0]
	base := path.Base(w.Text)
	if !w.Known() || w.Text == "" || strings.HasSuffix(w.Text, "/") ||
		w.Glob && strings.ContainsAny(base, "*?[") || strings.HasPrefix(w.Text, "=") {
		return ""
	}
	return base
}

// byName runs what the text itself has defined under this name.
func (s *Shell) byName(name string, in Invocation) bool {
	word := in.Words[0].Text
	if alias, ok := s.aliases[word]; ok {
		sub := s.Sub(append(in.Via, "alias")...)
		delete(sub.aliases, word)
		rest := in.Words[1:]
		for strings.HasSuffix(alias, " ") && len(rest) > 0 { // the next word may be an alias, too
			next, ok := s.aliases[rest[0].Text]
			if !ok {
				break
			}
			alias, rest = alias+next, rest[1:]
		}
		sub.Source(alias + " " + argv.QuoteAll(rest))
	}
	f, ok := s.funcs[word]
	if !ok || name == "" || slices.Contains(s.calling, word) {
		return false
	}
	*f.used = true
	defer func(env []argv.Field) { s.Env = env }(s.Env)
	s.Env = s.Overlaid(s.Env, in.Assigns...)
	s.call(word, f, in.Words[1:], true)
	return !f.maybe
}

// call walks a function's body.
func (s *Shell) call(name string, f function, args []argv.Field, known bool) {
	defer func(c []string) { s.calling = c }(s.calling)
	s.calling = slices.Concat(s.calling, []string{name})
	defer func(src string, params []string, words []argv.Field, pk bool) {
		s.Src, s.params, s.args, s.paramsKnown = src, params, words, pk
	}(s.Src, s.params, s.args, s.paramsKnown)
	defer func(n int) { s.entered = n }(s.entered)
	s.entered = s.conditional
	s.Src = f.src
	s.params, s.args, s.paramsKnown = nil, nil, known
	if known && !slices.ContainsFunc(args, func(a argv.Field) bool { return a.Stdin || a.Array }) {
		s.args = args
	}
	for _, a := range args {
		s.params = append(s.params, a.Text)
		s.paramsKnown = s.paramsKnown && a.Known()
	}
	defer func(l map[string]Variable) { s.locals = l }(s.locals)
	s.locals = make(map[string]Variable)
	s.within("function", func() { s.stmt(f.body) })
	for name, v := range s.locals {
		if s.Vars[name] = v; v.absent {
			delete(s.Vars, name)
		}
	}
}

// Emit lists a command with everything that it touches.
func (s *Shell) Emit(in Invocation) {
	if len(s.Found.Facts.Commands) >= collect.MaxCommands {
		s.Found.GiveUp("too many commands")
	}
	s.Found.Work(len(in.Words) / 4)
	c := holdgate.Command{
		Program: in.program(),
		Via:     slices.Concat(s.Via, in.Via),
		Stdin:   s.Stdin.Kind,
		Unbound: in.Unbound,
		As:      cmp.Or(in.as, s.as),
		On:      s.on,
	}
	if len(s.Dirs) == 1 && s.Dirs[0] != s.Found.Start() {
		c.Dir = s.Dirs[0]
	}
	env := s.Overlaid(s.Env, in.Assigns...)
	c.Env = variables(env)
	for _, a := range env {
		c.Unbound = append(slices.Clip(c.Unbound), environ.Loads(c.Program, a.Text)...)
	}
	for _, w := range in.Words {
		if w.Stdin {
			continue
		}
		c.Argv = append(c.Argv, w.Text)
		if strings.Contains(w.Text, "://") {
			s.Found.URLsIn(w.Text)
		}
	}
	c.Unresolved = s.programs.Depends(s, in, c.Program)
	if !in.Plain && len(in.Words) > 0 && slices.Contains(s.calling, in.Words[0].Text) {
		c.Unresolved = append(c.Unresolved, in.Words[0].Text+" calls itself")
	}
	words := len(c.Unresolved)
	outer, fixed, modes, why, acts := s.Found.Changed, s.Found.Fixed, s.Found.Modes, s.Found.Why, s.Found.Acts
	s.Found.Why, s.Found.Acts = nil, nil
	s.Found.Changed, s.Found.Fixed, s.Found.Modes = nil, s.programs.Fixed(in.Name()), wordlist.Has("mkdir touch chmod", in.Name())
	s.Found.Single, s.Found.Removes = in.deletesSingly(), wordlist.Has("rm rmdir unlink", in.Name())
	defer func() { s.Found.Removes = false }()
	statements, deletions, before := s.Found.Statements, s.Found.Deletions, s.Found.Facts
	s.programs.Effects(s, in, &c)
	c.SQL, c.Deletes = s.Found.Statements > statements, in.Deletes || s.Found.Deletions > deletions
	c.Unresolved = append(c.Unresolved, s.Found.Changed...)
	c.Reasons = s.programs.Why(s, in, &c, words)
	files := s.ranFiles(c.Unbound)
	c.Acts = untold(s.Found.Acts, told(before, s.Found.Facts))
	s.Found.Changed, s.Found.Fixed, s.Found.Modes, s.Found.Why, s.Found.Acts = outer, fixed, modes, why, acts
	c.Unresolved, c.Unbound = wordlist.Unique(c.Unresolved), wordlist.Unique(c.Unbound)
	if len(c.Via) == 0 {
		c.Via = nil
	}
	hangs(s.Found, s, in)
	s.Found.Joined(argv.Join(slices.Concat(env, in.Words), " "))
	key := []string{c.Program, c.Stdin, strconv.FormatBool(c.SQL), strconv.FormatBool(c.Deletes), strings.Join(c.Unresolved, "\x01"), strings.Join(c.Unbound, "\x01"), strings.Join(c.Via, "\x01")}
	for _, a := range env {
		key = append(key, a.Text)
	}
	for _, f := range append(files, collect.File{Reasons: c.Reasons}) {
		key = append(key, strings.Join(f.Reasons, " "))
	}
	if s.Found.Once("command", append(key, c.Argv...)...) {
		s.Found.Facts.Commands = append(s.Found.Facts.Commands, c)
		s.Found.Runs = append(s.Found.Runs, s.programs.Runs(s, c))
		s.Found.Files = append(s.Found.Files, files)
	}
}

// untold leaves out acts by as many names as there are facts that tell of them.
func untold(acts []holdgate.Act, told map[string]int) []holdgate.Act {
	return slices.DeleteFunc(acts, func(a holdgate.Act) bool { return a.Times <= told[a.Kind] })
}

// told counts, by the kind of act, what facts tell that were added: a deletion by its path, a
// statement by its verb, a program or a request by the command that stands for it.
func told(before, now holdgate.Facts) map[string]int {
	n := make(map[string]int)
	for _, p := range now.Paths[len(before.Paths):] {
		switch p.Access {
		case collect.AccessDelete:
			n[holdgate.ActDelete]++
		case collect.AccessWrite:
			n[holdgate.ActWrite]++
		}
	}
	for _, st := range now.SQL[len(before.SQL):] {
		switch st.Verb {
		case "delete", "drop", "truncate":
			n[holdgate.ActDelete]++
		case "select", "show", "explain":
		default:
			n[holdgate.ActChange]++
		}
	}
	runs := make(map[string]bool) // one may be there twice: as it may run, and as it is known to
	for _, c := range now.Commands[len(before.Commands):] {
		words := strings.Join(c.Argv, "\x00")
		if runs[words] {
			continue
		}
		runs[words] = true
		switch c.Program {
		case "curl": // as which a program's requests are told
			n[holdgate.ActSend]++
		case "kill", "pkill", "killall":
			n[holdgate.ActEnd]++
		default:
			n[holdgate.ActRun]++
		}
	}
	n[holdgate.ActMayDelete] = n[holdgate.ActDelete]
	return n
}

// ranFiles are the files that the command at hand runs, with why they were not read.
func (s *Shell) ranFiles(unbound []string) []collect.File {
	var out []collect.File
	for _, u := range unbound {
		f := collect.File{Text: u, Reasons: s.Found.Why[u]}
		if at, ok := s.FileAt(argv.Field{Text: u}); ok && f.Reasons == nil {
			if made, ok := s.Found.Compiled[at]; ok && made.Version == s.Found.Version(at) && !s.Found.Beside {
				f.Reasons = made.Reasons
			}
		}
		out = append(out, f)
	}
	return out
}

// Touch adds a path that a word names.
func (s *Shell) Touch(f argv.Field, access string) {
	if f.Stdin || s.Quiet || f.Within && access == collect.AccessWrite {
		return
	}
	s.Found.Linked = s.Found.Linked || f.Glob && access != collect.AccessRead
	written := f.Text
	f = s.Here(f)
	text, known := argv.Atoms(f)
	if p, ok := s.pattern(f, access); ok && !known {
		text, known = p, true
	}
	if access != collect.AccessRead && s.leavesWhere(f) {
		s.Found.Changed = append(s.Found.Changed, f.Text)
	}
	if !known && access != collect.AccessRead {
		s.Found.Changed = append(s.Found.Changed, f.Dynamic...)
	}
	if access != collect.AccessRead {
		s.Found.Changed = append(s.Found.Changed, f.Assumed...)
	}
	if access == collect.AccessWrite && known && strings.ContainsAny(text, "$`") && holdsCommand(text) {
		s.Found.Fail("shell: a file is named like a command: %s", text)
	}
	if (s.Found.Astray || len(s.Found.Links) > 0 && strings.Contains(f.Text, "..")) && access == collect.AccessWrite && !collect.HarmlessDevice(text) {
		s.Found.Fail("shell: %s is written, and may lie behind a link that the line makes", text)
	}
	if len(s.Found.Links) > 0 && access == collect.AccessWrite {
		if to := s.led(f); to != "" && to != f.Text {
			if !s.Found.Inside(to) {
				s.Found.Fail("shell: %s is written by way of a link that the line makes", to)
			}
			s.Found.Path(collect.Ref{Text: to, Written: written, Access: access, Dirs: s.Dirs, Reach: s.Reach})
		}
	}
	if len(s.Found.Links) > 0 && access == collect.AccessDelete {
		if to := s.ledBelow(f); to != "" {
			s.Found.Path(collect.Ref{Text: to, Written: written, Access: access, Dirs: s.Dirs, Reach: s.Reach})
		}
	}
	made := slices.ContainsFunc(s.Taint, func(t string) bool { return t != "" && strings.Contains(f.Text, t) })
	s.Found.Path(collect.Ref{Text: text, Written: written, Access: access, Dirs: s.Dirs, Dynamic: made || !known || access != collect.AccessRead && len(f.Assumed) > 0, Remote: s.Remote, Reach: s.Reach, Fresh: access == collect.AccessDelete && !made && s.ownTemporary(f), Made: access == collect.AccessDelete && !made && s.put(f)})
}

// holdsCommand reports whether a name would run a command where a shell evaluates it.
func holdsCommand(name string) bool {
	return strings.Contains(name, "$(") || strings.Contains(name, "`")
}

// output is what a statement would write, where that can be told: an echo, a
// printf or a cat of a here-document.
func (s *Shell) output(st *syntax.Stmt) Stream {
	unknown := Stream{Kind: "pipe"}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || !printsAll(st.Redirs) {
		return unknown
	}
	quiet := s.quietly()
	quiet.opensFiles(st.Redirs)
	words := quiet.fields(call.Args)
	if len(words) == 0 || s.overridden(words[0].Text) || len(call.Assigns) > 0 {
		return unknown
	}
	for _, w := range words {
		if !w.Sure() || w.Glob {
			return unknown
		}
	}
	args := words[1:]
	switch words[0].Text {
	case ":", "true":
		return Stream{Kind: "pipe", Known: true}
	case "cat", "/bin/cat":
		if quiet.Stdin.Kind == "heredoc" && (len(args) == 0 || len(args) == 1 && args[0].Text == "-") {
			return Stream{Kind: "pipe", Text: quiet.Stdin.Text, Known: quiet.Stdin.Known}
		}
		if len(args) == 1 && !strings.HasPrefix(args[0].Text, "-") {
			return Stream{Kind: "pipe", File: args[0].Text}
		}
	case "echo":
		return echo(args)
	case "pwd":
		if len(args) == 0 && len(s.Dirs) == 1 && path.IsAbs(s.Dirs[0]) {
			return Stream{Kind: "pipe", Text: s.Dirs[0] + "\n", Known: true}
		}
	case "basename", "dirname":
		return pathPart(words[0].Text, args)
	case "mktemp":
		return s.temporary(args)
	case "printf":
		if len(args) == 1 && !strings.ContainsAny(args[0].Text, `%`) {
			return Stream{Kind: "pipe", Text: grammar.AnsiC(args[0].Text), Known: true}
		}
		if len(args) > 1 && slices.Contains([]string{"%s", `%s\n`, "%s ", `%s\0`, "%b", `%b\n`}, args[0].Text) {
			sep := grammar.AnsiC(args[0].Text[2:])
			return Stream{Kind: "pipe", Text: argv.Join(args[1:], sep) + sep, Known: !strings.Contains(argv.Join(args[1:], ""), `\`)}
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
func pathPart(name string, args []argv.Field) Stream {
	unknown := Stream{Kind: "pipe"}
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0].Text, "-") || args[0].Text == "":
		return unknown
	case name == "dirname" && len(args) == 1:
		return Stream{Kind: "pipe", Text: path.Dir(strings.TrimRight(args[0].Text, "/")) + "\n", Known: true}
	case name == "basename" && len(args) == 1:
		return Stream{Kind: "pipe", Text: path.Base(args[0].Text) + "\n", Known: true}
	case name == "basename" && len(args) == 2:
		return Stream{Kind: "pipe", Text: strings.TrimSuffix(path.Base(args[0].Text), args[1].Text) + "\n", Known: true}
	}
	return unknown
}

// temporary is what mktemp prints: its template, where nothing says that it is
// another. All that it makes in /tmp goes by one name here.
func (s *Shell) temporary(args []argv.Field) Stream {
	if _, moved := s.Vars["TMPDIR"]; moved || s.Wild {
		return Stream{Kind: "pipe"}
	}
	end := ""
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1].Text
		}
		suffix, ends := strings.CutPrefix(a.Text, "--suffix=")
		switch {
		case before == "-p" && a.Text == "/tmp", before == "-t" && mktempTemplate.MatchString("/tmp/"+a.Text), wordlist.Has("-d -q -u -t -p --directory --quiet --tmpdir --tmpdir=/tmp", a.Text):
		case ends && mktempEnd.MatchString(suffix):
			end = suffix
		case mktempTemplate.MatchString(a.Text):
			end = mktempTemplate.FindStringSubmatch(a.Text)[2]
		default:
			return Stream{Kind: "pipe"}
		}
	}
	return Stream{Kind: "pipe", Text: mktempName + end + "\n", Known: true}
}

var (
	mktempTemplate = lazyregexp.New(`^/tmp/([\w-][\w.-]*)?XXX+(\.\w+)?$`)
	mktempEnd      = lazyregexp.New(`^\.\w+$`)
)

func echo(args []argv.Field) Stream {
	escapes := false
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' && strings.Trim(args[0].Text[1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0].Text, "e")
		args = args[1:]
	}
	text := argv.Join(args, " ")
	if escapes {
		text = grammar.AnsiC(text)
	}
	// Some shells read the escapes in any case.
	return Stream{Kind: "pipe", Text: text + "\n", Known: escapes || !strings.Contains(text, `\`)}
}

// overridden reports whether the line itself has given the name another
// meaning.
func (s *Shell) overridden(name string) bool {
	_, function := s.funcs[name]
	_, alias := s.aliases[name]
	return function || alias
}
