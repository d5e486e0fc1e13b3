package facts

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A follower reads a program whose arguments decide what else runs. It
// reports whether it has listed everything, the command itself included.
type follower func(s *shell, in invocation) bool

// followerOf finds the follower of a program: the shell's own commands, shells,
// and the programs that start others in ways which wrapperTable can't
// describe. It is nil for all others.
func followerOf(name string) follower {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "hush":
		return shellProgram
	case "eval":
		return eval
	case "source", ".":
		return sourceFile
	case "cd", "chdir", "pushd":
		return changeDir
	case "popd":
		return loseDir
	case "alias":
		return alias
	case "trap":
		return trap
	case "mapfile", "readarray":
		return mapFile
	case "compgen", "complete":
		return completion
	case "unset", "read", "getopts", "export", "readonly", "declare", "local", "typeset":
		return forgetNames
	case "printf":
		return printfVariable
	case "hash", "enable":
		return hashed
	case "set":
		return setParams
	case "setopt", "unsetopt", "emulate":
		return func(s *shell, _ invocation) bool {
			s.x.Fail("shell: %s changes how zsh reads commands", name)
			return false
		}
	case "shift":
		return shiftParams
	case "xargs", "gxargs":
		return xargs
	case "find", "gfind":
		return find
	case "fd", "fdfind":
		return fd
	case "parallel":
		return parallel
	case "hyperfine":
		return benchmark
	case "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc":
		return container
	case "uv", "poetry", "pipenv", "pdm", "rye", "hatch", "bundle", "conda", "mamba", "mise", "npm", "pnpm", "yarn", "npx", "bunx", "pnpx", "uvx", "pipx", "bun", "pixi":
		return runner
	case "at", "batch":
		return scheduled
	case "crontab":
		return crontab
	}
	return nil
}

// eval runs its words, joined, in this very shell.
func eval(s *shell, in invocation) bool {
	words := in.words[1:]
	if len(words) > 0 && words[0].text == "--" {
		words = words[1:]
	}
	dyn := dynamics(words)
	defer func(via []string) { s.via = via }(s.via)
	s.via = slices.Concat(s.via, in.via, []string{"eval"})
	s.made(join(words, " "), dyn)
	if len(dyn) > 0 {
		s.forgetAll()
	}
	return true
}

func sourceFile(s *shell, in invocation) bool {
	if len(in.words) > 1 {
		in.unbound = append(in.unbound, in.words[1].text)
		s.touch(in.words[1], collect.AccessRead)
	}
	s.emit(in)
	s.forgetAll()
	return true
}

// changeDir moves the shell. Where cd fails, it stays where it was.
func changeDir(s *shell, in invocation) bool {
	s.emit(in)
	s.failed = append(s.failed, s.state())
	o := parseOptions(in.words[1:], "", "")
	switch {
	case len(o.operands) > 0:
		s.moveTo(o.operands[0])
	default:
		s.moveTo(field{text: "~"})
	}
	return true
}

func loseDir(s *shell, in invocation) bool {
	s.emit(in)
	s.lose()
	return true
}

func (s *shell) lose() { s.dirs, s.lost = nil, true }

// moveTo sets the folder.
func (s *shell) moveTo(f field) {
	defer func() {
		s.x.Left = s.x.Left || slices.ContainsFunc(s.dirs, func(d string) bool { return !s.x.Project(path.Join(d, "x"), true) })
	}()
	f = s.here(f)
	dir, known := s.x.ExpandTilde(f.text, s.remote)
	home := dir == "~" || strings.HasPrefix(dir, "~/")
	if !f.known() || f.glob || !known && (!home || s.remote) || dir == "-" || dir == "" {
		s.lose()
		return
	}
	switch {
	case !known:
		s.dirs, s.lost = []string{collect.JoinDir("~", strings.TrimPrefix(dir, "~"))}, false
		return
	case path.IsAbs(dir):
		s.dirs, s.lost = []string{path.Clean(dir)}, false
		return
	}
	var to []string
	for _, d := range s.dirs {
		to = append(to, collect.JoinDir(d, dir))
	}
	s.dirs = to
}

func alias(s *shell, in invocation) bool {
	for _, w := range in.words[1:] {
		if len(w.text) > 1 && w.text[0] == '-' && strings.ContainsAny(w.text, "gs") || !w.known() {
			s.x.Fail("shell: an alias that may stand anywhere: %s", w.text)
		}
		if name, text, ok := strings.Cut(w.text, "="); ok {
			if before, had := s.aliases[name]; had && before != text && s.conditional > 0 {
				s.x.Fail("shell: an alias that may have been replaced: %s", name)
			}
			s.aliases[name] = text
			if _, err := s.parse(text); err != nil || strings.ContainsAny(text, "#") || strings.Contains(text, "<<") {
				s.x.Fail("shell: an alias that is no command by itself: %s", name)
			}
		}
	}
	return false
}

func trap(s *shell, in invocation) bool {
	if len(in.words) > 2 && len(in.words[1].text) > 1 && in.words[1].text[0] == '-' && strings.Trim(in.words[1].text, "-lpP") != "" {
		s.x.Fail("shell: a trap whose command begins like an option: %s", in.words[1].text)
	}
	o := parseOptions(in.words[1:], "", "")
	if len(o.operands) > 1 && o.operands[0].text != "-" && o.operands[0].text != "" {
		t := o.operands[0]
		s.x.Beside = true
		s.traps = append(slices.Clip(s.traps), t)
		s.springs(t)
	}
	return false
}

// springs walks a trap's text as it would run now.
func (s *shell) springs(t field) {
	sub := s.sub("trap")
	sub.traps = nil
	if !t.known() && t.origin >= originAtom && !t.runs { // numbers, which are read again as the variables that they are of
		t.dynamic = nil
	}
	sub.made(t.text, t.dynamic)
}

// trapsChange walks the traps again that a variable changes which has just
// been assigned.
func (s *shell) trapsChange(name string) {
	if s.quiet {
		return
	}
	for _, t := range s.traps {
		if s.hangsOn(t.text, name, 0) {
			s.springs(t)
		}
	}
}

// hangsOn reports whether a text, or a function that it may call, holds a
// name.
func (s *shell) hangsOn(text, name string, depth int) bool {
	if strings.Contains(text, name) || depth > 2 {
		return true
	}
	for called, f := range s.funcs {
		s.x.Tick()
		from, to := int(f.body.Pos().Offset()), int(f.body.End().Offset())
		if strings.Contains(text, called) && to <= len(f.src) && s.hangsOn(f.src[from:to], name, depth+1) {
			return true
		}
	}
	return false
}

// firstName is the variable that read sets to the first word of a line.
func firstName(in invocation) string {
	for _, w := range in.words[1:] {
		if !strings.HasPrefix(w.text, "-") {
			return w.text
		}
	}
	return ""
}

// forgetNames is for commands whose words name variables that they set.
func forgetNames(s *shell, in invocation) bool {
	name := in.name()
	names := 0
	for _, w := range in.words[1:] {
		if !strings.HasPrefix(w.text, "-") && w.text != "" {
			names++
		}
	}
	for _, w := range in.words[1:] {
		v, _, _ := strings.Cut(w.text, "=")
		if w.text == "-f" && name == "unset" {
			for k, f := range s.funcs {
				f.maybe = true
				s.funcs[k] = f
			}
		}
		s.forget(v)
		if name == "unset" && s.conditional == 0 {
			s.unexport(v)
		}
		if name == "read" && names > 1 && v == firstName(in) && s.stdin.first > originAny && len(in.assigns) == 0 {
			s.set(v, variable{origin: s.stdin.first})
			continue
		}
		if name == "read" && !strings.HasPrefix(v, "-") {
			from := min(s.stdin.origin, originNames)
			if s.stdin.origin == originAtom {
				from = originAtom
			}
			s.set(v, variable{origin: from, within: s.stdin.within && names == 1})
		}
		if wordlist.Has("mapfile readarray", name) && names == 1 && !strings.HasPrefix(v, "-") {
			s.set(v, variable{origin: min(s.stdin.origin, originNames), within: s.stdin.within})
		}
	}
	return false
}

// mapFile is mapfile, whose -C is evaluated as it reads.
func mapFile(s *shell, in invocation) bool {
	for _, f := range parseOptions(in.words[1:], "dnOsuCc", "").values("C", "") {
		f.text += ` "$index" "$line"`
		s.codeText(f, in.under(in.name()+" -C"))
	}
	return forgetNames(s, in)
}

// completion is compgen and complete: -C and -F run, and -W is expanded.
func completion(s *shell, in invocation) bool {
	o := parseOptions(in.words[1:], "oAGWFCXPS", "")
	for _, f := range o.values("CF", "") {
		s.codeText(f, in.under(in.name()))
	}
	for _, f := range o.values("W", "") {
		s.codeText(field{text: ": " + f.text, dynamic: f.dynamic}, in.under(in.name()+" -W"))
	}
	return false
}

func printfVariable(s *shell, in invocation) bool {
	for _, v := range parseOptions(in.words[1:], "v", "").values("v", "") {
		s.forget(v.text)
	}
	return false
}

// hashed is for "hash -p FILE NAME" and "enable -f FILE NAME": from then on,
// the name runs the file.
func hashed(s *shell, in invocation) bool {
	o := parseOptions(in.words[1:], "pf", "")
	for _, f := range o.values("pf", "") {
		in.unbound = append(in.unbound, f.text)
	}
	s.emit(in)
	return true
}

// setParams is "set -- a b", which replaces $1 and on.
func setParams(s *shell, in invocation) bool {
	named := false // by -o before it
	for i, w := range in.words[1:] {
		name := named
		named = len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+') && w.text[1] != '-' && strings.HasSuffix(w.text, "o")
		if t := w.text; t == "allexport" || len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "a") {
			s.exportsAll = true
		}
		if t := w.text; t == "keyword" || len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "k") || t == "braceexpand" ||
			len(t) > 1 && (t[0] == '-' || t[0] == '+') && t[1] != '-' && strings.Contains(t, "B") {
			s.x.Fail("shell: set %s changes how commands are read", t)
		}
		if t := w.text; len(t) > 1 && (t[0] == '-' || t[0] == '+') && t[1] != '-' && strings.Contains(t, "A") {
			s.x.Fail("shell: set %s sets an array in zsh", t)
		}
		if name {
			continue
		}
		if (w.text == "-" || w.text == "+") && i+2 == len(in.words) {
			break // nothing is set
		}
		if w.text != "--" && len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+') {
			continue
		}
		rest := in.words[1+i:]
		if w.text == "--" || w.text == "-" {
			rest = rest[1:]
		}
		s.params, s.args, s.paramsKnown = nil, nil, true
		for _, p := range rest {
			s.params = append(s.params, p.text)
			s.paramsKnown = s.paramsKnown && p.known() && s.conditional == 0
		}
		break
	}
	return false
}

// shiftParams takes arguments off the front: of a function's that are known, where the
// shift is certain to run.
func shiftParams(s *shell, in invocation) bool {
	n := 1
	if len(in.words) == 2 && len(in.words[1].text) == 1 && in.words[1].known() {
		n = int(in.words[1].text[0] - '0')
	}
	certain := len(s.calling) > 0 && s.conditional == s.entered && len(in.words) <= 2 && n >= 0 && n <= 9 && n <= len(s.args) &&
		!slices.ContainsFunc(s.args[:n], func(f field) bool { return f.bare })
	if !certain {
		s.params, s.args, s.paramsKnown = nil, nil, false
		return false
	}
	s.args = s.args[n:]
	if s.paramsKnown {
		s.params = s.params[n:]
	}
	return false
}

// shellProgram is a shell that is given its text: with -c, in a file, or on
// standard input.
func shellProgram(s *shell, in invocation) bool {
	name := in.name()
	for _, f := range parseOptions(in.words[1:], "", "rcfile init-file").values("", "rcfile") {
		in.unbound = append(in.unbound, f.text)
	}
	code, file, args := shellArguments(in.words[1:])
	switch {
	case code != nil && code.stdin, file != nil && file.stdin:
		return false
	case code != nil:
		sub := s.sub(append(in.via, name+" -c")...)
		sub.inherit(in.assigns)
		sub.stdin = s.stdin
		if len(args) > 0 {
			sub.params, sub.args, sub.paramsKnown = nil, nil, true
			for _, a := range args[1:] {
				sub.params = append(sub.params, a.text)
				sub.paramsKnown = sub.paramsKnown && a.known()
			}
		}
		sub.made(code.text, code.dynamic)
		starts := func(a field) bool {
			name, _, _ := strings.Cut(a.text, "=")
			return wordlist.Has(fileVariables, name) && len(loads(in.name(), a)) > 0
		}
		if len(in.unbound) > 0 || slices.ContainsFunc(s.overlaid(s.env, in.assigns...), starts) {
			s.emit(in)
		}
		return true
	case file != nil && file.text != "-" && file.text != "/dev/stdin":
		if text, ok := s.content(*file); ok && len(in.unbound) == 0 {
			sub := s.sub(append(in.via, name)...)
			sub.inherit(in.assigns)
			sub.stdin, sub.params, sub.args, sub.paramsKnown = s.stdin, texts(args), nil, known(args)
			s.touch(*file, collect.AccessRead)
			sub.source(text)
			return true
		}
		in.unbound = append(in.unbound, file.text)
		s.touch(*file, collect.AccessRead)
		s.emit(in)
		return true
	}
	return s.readsInput(name, in)
}

// readsInput is a shell that runs what it reads.
func (s *shell) readsInput(name string, in invocation) bool {
	switch s.stdin.kind {
	case "":
		s.emit(in)
		return true
	case "file":
		in.unbound = append(in.unbound, s.stdin.file)
		s.emit(in)
		return true
	}
	via := append(slices.Clip(in.via), s.stdin.kind)
	if s.stdin.known {
		sub := s.sub(append(via, name)...)
		sub.stdin = stream{}
		sub.script(s.stdin.text)
		return true
	}
	if s.stdin.kind == "heredoc" {
		sub := s.sub(append(via, name)...)
		sub.taint = append(slices.Clip(sub.taint), "stdin")
		text := s.stdin.text
		sub.stdin = stream{}
		sub.script(text)
	}
	in.via = via
	if s.stdin.file != "" {
		in.unbound = append(in.unbound, s.stdin.file)
	}
	in.words = append(slices.Clip(in.words), field{stdin: true})
	s.emit(in)
	return true
}

// shellArguments takes a shell's words apart: the text of -c, or the script,
// and what follows.
func shellArguments(words []field) (code, file *field, rest []field) {
	wantCode, stdin := false, false
	for i := 0; i < len(words); i++ {
		t := words[i].text
		if len(t) < 2 || (t[0] != '-' && t[0] != '+') {
			if wantCode {
				return &words[i], nil, words[i+1:]
			}
			if stdin {
				return nil, nil, words[i:]
			}
			return nil, &words[i], words[i+1:]
		}
		switch {
		case t == "--":
			if i+1 < len(words) && wantCode {
				return &words[i+1], nil, words[i+2:]
			}
			if i+1 < len(words) && !stdin {
				return nil, &words[i+1], words[i+2:]
			}
			return nil, nil, nil
		case t == "--rcfile" || t == "--init-file":
			i++
		case t == "--command" && i+1 < len(words):
			return &words[i+1], nil, words[i+2:]
		case strings.HasPrefix(t, "--"):
		default:
			wantCode = wantCode || t[0] == '-' && strings.Contains(t, "c")
			stdin = stdin || strings.Contains(t, "s")
			if strings.HasSuffix(t, "o") || strings.HasSuffix(t, "O") {
				i++
			}
		}
	}
	return nil, nil, nil
}
