package shell

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/environ"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A Follower reads a program whose arguments decide what else runs. It
// reports whether it has listed everything, the command itself included.
type Follower func(s *Shell, in Invocation) bool

// Programs are what is known of programs that are not the shell's own. A shell is
// handed them, for it reads text and no more.
type Programs struct {
	// Starts finds the follower of a program that starts others in ways which
	// wrapperTable can't describe; nil for all others.
	Starts func(name string) Follower
	// Special reports whether a program's arguments have a grammar of their own.
	Special func(name string) bool
	// Effects adds what a command touches, and to the command what it runs besides.
	Effects func(s *Shell, in Invocation, c *holdgate.Command)
	// Depends is what a command hangs on that is known at run time only.
	Depends func(s *Shell, in Invocation, program string) []string
	// Runs are the files of the project that a command runs.
	Runs func(s *Shell, c holdgate.Command) []collect.Run
	// Fixed reports whether a command decides on no content of the files that it
	// writes: it makes folders, or formats.
	Fixed func(name string) bool
	// Why says why a command is not known in full. Of what it hangs on, the first are
	// words of the line.
	Why func(s *Shell, in Invocation, c *holdgate.Command, words int) []string
}

// Follows finds the follower of a program; nil for most. The shell's own commands
// come first.
func (s *Shell) Follows(name string) Follower {
	if f := builtinOf(name); f != nil {
		return f
	}
	return s.programs.Starts(name)
}

// builtinOf finds the follower of the shell's own commands, and of shells.
func builtinOf(name string) Follower {
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
		return func(s *Shell, _ Invocation) bool {
			s.Found.Fail("shell: %s changes how zsh reads commands", name)
			return false
		}
	case "shift":
		return shiftParams
	}
	return nil
}

// eval runs its words, joined, in this very shell.
func eval(s *Shell, in Invocation) bool {
	words := in.Words[1:]
	if len(words) > 0 && words[0].Text == "--" {
		words = words[1:]
	}
	dyn := argv.Dynamics(words)
	defer func(via []string) { s.Via = via }(s.Via)
	s.Via = slices.Concat(s.Via, in.Via, []string{"eval"})
	s.made(argv.Join(words, " "), dyn)
	if len(dyn) > 0 {
		s.forgetAll()
	}
	return true
}

func sourceFile(s *Shell, in Invocation) bool {
	if len(in.Words) > 1 {
		in.Unbound = append(in.Unbound, in.Words[1].Text)
		s.Touch(in.Words[1], collect.AccessRead)
	}
	s.Emit(in)
	s.forgetAll()
	return true
}

func alias(s *Shell, in Invocation) bool {
	for _, w := range in.Words[1:] {
		if len(w.Text) > 1 && w.Text[0] == '-' && strings.ContainsAny(w.Text, "gs") || !w.Known() {
			s.Found.Fail("shell: an alias that may stand anywhere: %s", w.Text)
		}
		if name, text, ok := strings.Cut(w.Text, "="); ok {
			if before, had := s.aliases[name]; had && before != text && s.conditional > 0 {
				s.Found.Fail("shell: an alias that may have been replaced: %s", name)
			}
			s.aliases[name] = text
			if _, err := s.Parse(text); err != nil || strings.ContainsAny(text, "#") || strings.Contains(text, "<<") {
				s.Found.Fail("shell: an alias that is no command by itself: %s", name)
			}
		}
	}
	return false
}

// firstName is the variable that read sets to the first word of a line.
func firstName(in Invocation) string {
	for _, w := range in.Words[1:] {
		if !strings.HasPrefix(w.Text, "-") {
			return w.Text
		}
	}
	return ""
}

// plainRead reports whether read takes a whole line.
func plainRead(in Invocation) bool {
	return !slices.ContainsFunc(in.Words[1:], func(w argv.Field) bool { return strings.HasPrefix(w.Text, "-") && w.Text != "-r" })
}

// forgetNames is for commands whose words name variables that they set.
func forgetNames(s *Shell, in Invocation) bool {
	name := in.Name()
	names := 0
	for _, w := range in.Words[1:] {
		if !strings.HasPrefix(w.Text, "-") && w.Text != "" {
			names++
		}
	}
	for _, w := range in.Words[1:] {
		v, _, _ := strings.Cut(w.Text, "=")
		if w.Text == "-f" && name == "unset" {
			for k, f := range s.funcs {
				f.maybe = true
				s.funcs[k] = f
			}
		}
		s.forget(v)
		if name == "unset" {
			s.unkeyed(w)
		}
		if name == "unset" && s.conditional == 0 {
			s.unexport(v)
		}
		if name == "read" && names > 1 && v == firstName(in) && s.Stdin.first > argv.OriginAny && len(in.Assigns) == 0 && plainRead(in) && s.splitsAtBlanks() {
			s.Set(v, Variable{origin: s.Stdin.first})
			continue
		}
		if name == "read" && !strings.HasPrefix(v, "-") {
			from := min(s.Stdin.Origin, argv.OriginNames)
			if s.Stdin.Origin == argv.OriginAtom || s.Stdin.Origin == argv.OriginLabel && len(in.Assigns) == 0 && s.splitsAtBlanks() {
				from = s.Stdin.Origin
			}
			s.Set(v, Variable{origin: from, part: s.Stdin.part, folder: s.Stdin.folder && names == 1 && plainRead(in), within: s.Stdin.Within && names == 1})
		}
		if wordlist.Has("mapfile readarray", name) && names == 1 && !strings.HasPrefix(v, "-") {
			s.Set(v, Variable{origin: min(s.Stdin.Origin, argv.OriginNames), part: s.Stdin.part, folder: s.Stdin.folder && len(in.Words) == 3 && in.Words[1].Text == "-t", within: s.Stdin.Within})
		}
	}
	return false
}

// mapFile is mapfile, whose -C is evaluated as it reads.
func mapFile(s *Shell, in Invocation) bool {
	for _, f := range argv.ParseOptions(in.Words[1:], "dnOsuCc", "").Values("C", "") {
		f.Text += ` "$index" "$line"`
		s.CodeText(f, in.Under(in.Name()+" -C"))
	}
	return forgetNames(s, in)
}

// completion is compgen and complete: -C and -F run, and -W is expanded.
func completion(s *Shell, in Invocation) bool {
	o := argv.ParseOptions(in.Words[1:], "oAGWFCXPS", "")
	for _, f := range o.Values("CF", "") {
		s.CodeText(f, in.Under(in.Name()))
	}
	for _, f := range o.Values("W", "") {
		s.CodeText(argv.Field{Text: ": " + f.Text, Dynamic: f.Dynamic}, in.Under(in.Name()+" -W"))
	}
	return false
}

func printfVariable(s *Shell, in Invocation) bool {
	for _, v := range argv.ParseOptions(in.Words[1:], "v", "").Values("v", "") {
		s.forget(v.Text)
	}
	return false
}

// hashed is for "hash -p FILE NAME" and "enable -f FILE NAME": from then on,
// the name runs the file.
func hashed(s *Shell, in Invocation) bool {
	o := argv.ParseOptions(in.Words[1:], "pf", "")
	for _, f := range o.Values("pf", "") {
		in.Unbound = append(in.Unbound, f.Text)
	}
	s.Emit(in)
	return true
}

// noClobber are options of a shell with which it replaces no files.
var noClobber = lazyregexp.New(`^-[a-zA-Z]*C[a-zA-Z]*$`)

// setParams is "set -- a b", which replaces $1 and on.
func setParams(s *Shell, in Invocation) bool {
	named := false // by -o before it
	for i, w := range in.Words[1:] {
		name := named
		named = len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+') && w.Text[1] != '-' && strings.HasSuffix(w.Text, "o")
		if t := w.Text; t == "allexport" || len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "a") {
			s.exportsAll = true
		}
		if t := w.Text; t == "noclobber" || noClobber.MatchString(t) {
			s.Found.Keeps = true
		}
		if t := w.Text; t == "keyword" || len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "k") || t == "braceexpand" ||
			len(t) > 1 && (t[0] == '-' || t[0] == '+') && t[1] != '-' && strings.Contains(t, "B") {
			s.Found.Fail("shell: set %s changes how commands are read", t)
		}
		if t := w.Text; len(t) > 1 && (t[0] == '-' || t[0] == '+') && t[1] != '-' && strings.Contains(t, "A") {
			s.Found.Fail("shell: set %s sets an array in zsh", t)
		}
		if name {
			continue
		}
		if (w.Text == "-" || w.Text == "+") && i+2 == len(in.Words) {
			break // nothing is set
		}
		if w.Text != "--" && len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+') {
			continue
		}
		rest := in.Words[1+i:]
		if w.Text == "--" || w.Text == "-" {
			rest = rest[1:]
		}
		s.params, s.args, s.paramsKnown = nil, nil, true
		for _, p := range rest {
			s.params = append(s.params, p.Text)
			s.paramsKnown = s.paramsKnown && p.Sure() && s.conditional == 0
		}
		break
	}
	return false
}

// shiftParams takes arguments off the front: of a function's that are known, where the
// shift is certain to run.
func shiftParams(s *Shell, in Invocation) bool {
	n := 1
	if len(in.Words) == 2 && len(in.Words[1].Text) == 1 && in.Words[1].Known() {
		n = int(in.Words[1].Text[0] - '0')
	}
	certain := len(s.calling) > 0 && s.conditional == s.entered && len(in.Words) <= 2 && n >= 0 && n <= 9 && n <= len(s.args) &&
		!slices.ContainsFunc(s.args[:n], func(f argv.Field) bool { return f.Bare })
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
func shellProgram(s *Shell, in Invocation) bool {
	name := in.Name()
	for _, f := range argv.ParseOptions(in.Words[1:], "", "rcfile init-file").Values("", "rcfile") {
		in.Unbound = append(in.Unbound, f.Text)
	}
	s.Found.Keeps = s.Found.Keeps || slices.ContainsFunc(in.Words[1:], func(f argv.Field) bool { return f.Text == "noclobber" || noClobber.MatchString(f.Text) })
	code, file, args := shellArguments(in.Words[1:])
	switch {
	case code != nil && code.Stdin, file != nil && file.Stdin:
		return false
	case code != nil:
		sub := s.Sub(append(in.Via, name+" -c")...)
		sub.inherit(in.Assigns)
		sub.Stdin = s.Stdin
		if len(args) > 0 {
			sub.params, sub.args, sub.paramsKnown = nil, nil, true
			for _, a := range args[1:] {
				sub.params = append(sub.params, a.Text)
				sub.paramsKnown = sub.paramsKnown && a.Sure()
			}
		}
		sub.made(code.Text, argv.Dynamics([]argv.Field{*code}))
		starts := func(a argv.Field) bool {
			name, _, _ := strings.Cut(a.Text, "=")
			return environ.NamesFiles(name) && len(environ.Loads(in.Name(), a.Text)) > 0
		}
		if len(in.Unbound) > 0 || slices.ContainsFunc(s.Overlaid(s.Env, in.Assigns...), starts) {
			s.Emit(in)
		}
		return true
	case file != nil && file.Text != "-" && file.Text != "/dev/stdin":
		if text, ok := s.Content(*file); ok && len(in.Unbound) == 0 {
			sub := s.Sub(append(in.Via, name)...)
			sub.inherit(in.Assigns)
			sub.Stdin, sub.params, sub.args, sub.paramsKnown = s.Stdin, argv.Texts(args), nil, !slices.ContainsFunc(args, func(f argv.Field) bool { return !f.Sure() })
			sub.script = file.Text
			s.Touch(*file, collect.AccessRead)
			sub.Source(text)
			return true
		}
		in.Unbound = append(in.Unbound, file.Text)
		s.Touch(*file, collect.AccessRead)
		s.Emit(in)
		return true
	}
	return s.readsInput(name, in)
}

// readsInput is a shell that runs what it reads.
func (s *Shell) readsInput(name string, in Invocation) bool {
	switch s.Stdin.Kind {
	case "":
		s.Emit(in)
		return true
	case "file":
		in.Unbound = append(in.Unbound, s.Stdin.File)
		s.Emit(in)
		return true
	}
	via := append(slices.Clip(in.Via), s.Stdin.Kind)
	if s.Stdin.Known {
		sub := s.Sub(append(via, name)...)
		sub.Stdin = Stream{}
		sub.Script(s.Stdin.Text)
		return true
	}
	if s.Stdin.Kind == "heredoc" {
		sub := s.Sub(append(via, name)...)
		sub.Taint = append(slices.Clip(sub.Taint), "stdin")
		text := s.Stdin.Text
		sub.Stdin = Stream{}
		sub.Script(text)
	}
	in.Via = via
	if s.Stdin.File != "" {
		in.Unbound = append(in.Unbound, s.Stdin.File)
	}
	in.Words = append(slices.Clip(in.Words), argv.Field{Stdin: true})
	s.Emit(in)
	return true
}

// shellArguments takes a shell's words apart: the text of -c, or the script,
// and what follows.
func shellArguments(words []argv.Field) (code, file *argv.Field, rest []argv.Field) {
	wantCode, stdin := false, false
	for i := 0; i < len(words); i++ {
		t := words[i].Text
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
