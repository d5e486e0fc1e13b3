package shell

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A Wrapper is a program that runs the command in its own arguments.
type Wrapper struct {
	Valued  string // short options that take a value
	Long    string // long options that take a value
	Skip    int    // operands before the command
	assigns bool   // NAME=value may stand before the command
	plain   bool   // skips functions and aliases of the shell
	solo    string // options with which it runs nothing
	code    bool   // -c takes shell text
	joined  bool   // its words are joined and given to a shell
	remote  bool   // the command runs in another place
}

// WrapperTable holds the wrappers that are taken off a command. Their options
// are those of coreutils, util-linux, sudo, and the BSDs where they add some.
var WrapperTable = sync.OnceValue(func() map[string]Wrapper {
	return map[string]Wrapper{
		"sudo":         {Valued: "ugpCDhRrtTUa", Long: "user group prompt chdir host role type close-from chroot command-timeout other-user", assigns: true, solo: "lvKkeV"},
		"doas":         {Valued: "uCa", solo: "LC"},
		"pkexec":       {Long: "user"},
		"env":          {Valued: "uCSP", Long: "unset chdir split-string", assigns: true},
		"nohup":        {},
		"setsid":       {},
		"time":         {Valued: "fo", Long: "format output"},
		"gtime":        {Valued: "fo", Long: "format output"},
		"timeout":      {Valued: "ks", Long: "kill-after signal", Skip: 1},
		"gtimeout":     {Valued: "ks", Long: "kill-after signal", Skip: 1},
		"nice":         {Valued: "n", Long: "adjustment"},
		"ionice":       {Valued: "cnpPu", Long: "class classdata"},
		"chrt":         {Valued: "TPD", Skip: 1},
		"taskset":      {Skip: 1},
		"stdbuf":       {Valued: "ioe", Long: "input output error"},
		"unbuffer":     {},
		"chronic":      {},
		"command":      {plain: true, solo: "vV"},
		"builtin":      {plain: true},
		"exec":         {Valued: "a"},
		"noglob":       {},
		"nocorrect":    {},
		"busybox":      {plain: true},
		"toybox":       {plain: true},
		"coreutils":    {plain: true, Long: "coreutils-prog"},
		"strace":       {Valued: "aeEopPsuIObSUX", Long: "output"},
		"ltrace":       {Valued: "aeopsuAFlnx"},
		"chroot":       {Long: "userspec groups", Skip: 1, remote: true},
		"unshare":      {Valued: "RwSG", Long: "root wd setuid setgid"},
		"nsenter":      {Valued: "tSGrw", Long: "target"},
		"fakeroot":     {Valued: "lsib"},
		"proot":        {Valued: "rbwqRS"},
		"systemd-run":  {Valued: "pupEMH", Long: "property unit uid gid slice setenv working-directory"},
		"caffeinate":   {Valued: "tw"},
		"flock":        {Valued: "wE", Long: "timeout conflict-exit-code", Skip: 1, code: true},
		"su":           {Valued: "sgGwT", Long: "shell group", code: true, solo: "*"},
		"runuser":      {Valued: "usgGw", Long: "user shell group", code: true},
		"sg":           {code: true, Skip: 1},
		"script":       {Valued: "EIOBTtmo", code: true, Skip: 1},
		"watch":        {Valued: "nq", Long: "interval equexit", joined: true},
		"setpriv":      {Long: "reuid regid groups"},
		"prlimit":      {},
		"xvfb-run":     {Valued: "enspfw"},
		"rlwrap":       {},
		"firejail":     {},
		"torsocks":     {},
		"proxychains":  {Valued: "f"},
		"arch":         {},
		"entr":         {},
		"dotenv":       {Valued: "ef"},
		"direnv":       {Skip: 2},
		"aws-vault":    {Skip: 2},
		"ssh":          {Valued: "bBcDEeFIiJLlmOopPQRSWw", Skip: 1, joined: true, remote: true},
		"sshpass":      {Valued: "pfdP"},
		"mosh":         {Skip: 1, joined: true, remote: true},
		"proxychains4": {Valued: "f"},
		"valgrind":     {Long: "log-file xml-file callgrind-out-file massif-out-file cachegrind-out-file"},
		"bear":         {Valued: "o", Long: "output config"},
		"scan-build":   {Valued: "o"},
		"ccache":       {},
		"sccache":      {},
		"c8":           {Valued: "ron", Long: "reporter reports-dir include exclude"},
		"nyc":          {Valued: "rn", Long: "reporter report-dir include exclude"},
		"cross-env":    {assigns: true},
	}
})

// oneWord are variables whose values are one word wherever people work.
const oneWord = "PATH HOME PWD OLDPWD USER LOGNAME SHELL TERM LANG TMPDIR GOPATH GOROOT VIRTUAL_ENV"

// unwrap runs the command inside of a wrapper. It reports false where there
// is none.
func (s *Shell) unwrap(w Wrapper, name string, in Invocation) bool {
	i, opts := s.CommandAt(w, in.Words)
	in.as = cmp.Or(user(name, opts), in.as)
	if w.solo != "" && w.solo != "*" && opts.Has(w.solo, "") {
		return false
	}
	s.wrapperOptions(name, opts)
	if i < len(in.Words) && in.Words[i].Text == "-" && wordlist.Has("exec command builtin noglob nocorrect", name) {
		s.Found.Fail("shell: a command that only zsh knows: %s -", name)
	}
	if w.code {
		if code := append(opts.Values("c", "command"), opts.Values("", "session-command")...); len(code) > 0 {
			s.CodeText(code[0], in.Under(name))
			return true
		}
	}
	if name == "env" {
		if split := opts.Values("S", "split-string"); len(split) > 0 {
			text := argv.Join(split, " ") + " " + argv.QuoteAll(in.Words[i:])
			s.CodeText(argv.Field{Text: text, Dynamic: split[0].Dynamic}, in.Under(name))
			return true
		}
	}
	if name == "exec" && len(in.Words) == 1 {
		return true // it redirects, and runs nothing
	}
	if i >= len(in.Words) || w.solo == "*" {
		return w.Skip > 0 && s.remoteInput(name, in)
	}
	sub := s
	if w.remote {
		sub = s.Sub()
		sub.Remote, sub.Dirs = true, nil
		in.as = sub.elsewhere(name, opts)
	}
	if dir := opts.Values("DC", "chdir"); (name == "env" || name == "sudo") && len(dir) > 0 {
		sub = s.Sub()
		sub.MoveTo(dir[0])
	}
	next := in.Under(name)
	next.Words, next.Plain = in.Words[i:], in.Plain || w.plain || name != "exec" && name != "time"
	if w.joined && !opts.Has("x", "exec") {
		sub.CodeText(argv.Field{Text: argv.Join(next.Words, " "), Dynamic: argv.Dynamics(next.Words)}, next)
		return true
	}
	for w.assigns && len(next.Words) > 0 && argv.IsAssignment(next.Words[0]) {
		if f := next.Words[0]; f.Bare && f.Origin < argv.OriginAtom && slices.ContainsFunc(f.Dynamic, func(d string) bool { return !wordlist.Has(oneWord, strings.Trim(d, "${}")) }) { // it may be several words, and one of them what runs
			sub.Emit(Invocation{Words: []argv.Field{{Text: f.Text, Dynamic: f.Dynamic}}, Via: next.Via})
		}
		next.Assigns = append(next.Assigns, next.Words[0])
		next.Words = next.Words[1:]
	}
	if len(next.Words) == 0 {
		return false
	}
	sub.Run(next)
	return true
}

// wrapperOptions notes what a wrapper itself does besides.
func (s *Shell) wrapperOptions(name string, o argv.Options) {
	switch name {
	case "ssh", "mosh":
		if len(o.Operands) > 0 {
			s.Found.Host("ssh", o.Operands[0].Text)
		}
		s.sshOptions(o)
	case "systemd-run":
		s.Found.Path(collect.Ref{Text: "/run/systemd/transient/", Access: collect.AccessWrite})
	case "direnv": // what is in the folder's file goes into the command's environment
		if len(o.Operands) > 1 {
			s.Touch(argv.Field{Text: path.Join(o.Operands[1].Text, ".envrc"), Dynamic: o.Operands[1].Dynamic}, collect.AccessRead)
		}
	case "script":
		for _, f := range o.Operands[:min(1, len(o.Operands))] {
			s.Touch(f, collect.AccessWrite)
		}
	case "valgrind":
		for _, long := range []string{"log-file", "xml-file", "callgrind-out-file", "massif-out-file", "cachegrind-out-file"} {
			for _, f := range o.Values("", long) {
				s.Touch(f, collect.AccessWrite)
			}
		}
	case "strace", "ltrace", "time", "gtime":
		for _, f := range o.Values("o", "output") {
			s.Touch(f, collect.AccessWrite)
		}
	}
}

// sshOptions follows the commands that ssh would run here.
func (s *Shell) sshOptions(o argv.Options) {
	for _, f := range o.Values("o", "") {
		i := strings.IndexAny(f.Text, "= ")
		if i < 0 {
			continue
		}
		switch key := f.Text[:i]; strings.ToLower(key) {
		case "proxycommand", "localcommand", "knownhostscommand":
			s.CodeText(argv.Field{Text: strings.Trim(f.Text[i:], "= "), Dynamic: f.Dynamic}, Invocation{Via: []string{"ssh -o " + key}})
		}
	}
	for _, f := range o.Values("iFE", "") {
		s.Touch(f, collect.AccessRead)
	}
}

// remoteInput follows what a remote shell would read from standard input.
func (s *Shell) remoteInput(name string, in Invocation) bool {
	if name != "ssh" || !s.Stdin.Known {
		return false
	}
	sub := s.Sub(append(in.Via, name)...)
	sub.Remote, sub.Dirs = true, nil
	_, opts := s.CommandAt(WrapperTable()[name], in.Words)
	sub.as = sub.elsewhere(name, opts)
	sub.Script(s.Stdin.Text)
	return true
}

// user is the one as whom a wrapper runs its command, where it is one that
// changes that.
func user(name string, o argv.Options) string {
	switch name {
	case "sudo", "doas", "pkexec", "runuser", "su":
	default:
		return ""
	}
	if named := o.Values("u", "user"); len(named) > 0 {
		return named[len(named)-1].Text
	}
	for _, f := range o.Operands {
		if name == "su" && f.Text != "-" {
			return f.Text
		}
	}
	return "root"
}

// elsewhere notes the machine that a wrapper leads to, and returns the user there
// where it names one.
func (s *Shell) elsewhere(name string, o argv.Options) (as string) {
	s.as, s.on = "", ""
	if name != "ssh" && name != "mosh" || len(o.Operands) == 0 {
		return ""
	}
	user, host, named := strings.Cut(o.Operands[0].Text, "@")
	if !named {
		s.on = user
		return ""
	}
	s.on = host
	return user
}

// CommandAt finds the word at which the wrapped command begins, and the
// options before it.
func (s *Shell) CommandAt(w Wrapper, words []argv.Field) (int, argv.Options) {
	i, left := 1, w.Skip
	var before []argv.Field
	for i < len(words) {
		t := words[i].Text
		if t == "--" {
			i++
			break
		}
		if t == "-" && w.assigns {
			i++ // env - stands for env -i
			continue
		}
		if len(t) < 2 || t[0] != '-' || words[i].Stdin {
			if left == 0 && (!w.code || !hasCode(words[i:])) {
				break
			}
			left = max(left-1, 0)
			before = append(before, words[i])
			i++
			continue
		}
		n := 1
		switch {
		case strings.HasPrefix(t, "--"):
			if wordlist.Has(w.Long, t[2:]) || w.code && t == "--command" {
				n = 2
			}
		default:
			n = 1 + argv.ClusterWords(t, valuedOf(w))
		}
		n = min(n, len(words)-i)
		before = append(before, words[i:i+n]...)
		i += n
	}
	for ; left > 0 && i < len(words); left-- {
		before = append(before, words[i])
		i++
	}
	return i, argv.ParseOptions(before, valuedOf(w), w.Long+" command session-command")
}

func valuedOf(w Wrapper) string {
	if w.code {
		return w.Valued + "c"
	}
	return w.Valued
}

// hasCode reports whether a -c stands further on, as in "su user -c CODE".
func hasCode(words []argv.Field) bool {
	for _, w := range words {
		if w.Text == "-c" || strings.HasPrefix(w.Text, "--command") {
			return true
		}
	}
	return false
}

// CodeText walks shell text that a command hands to a shell of its own.
func (s *Shell) CodeText(code argv.Field, in Invocation) {
	sub := s.Sub(in.Via...)
	sub.as = cmp.Or(in.as, s.as)
	sub.inherit(in.Assigns)
	sub.made(code.Text, argv.Dynamics([]argv.Field{code}))
}

// made walks text that was put together at run time out of the given parts,
// and of what is known.
func (s *Shell) made(text string, parts []string) {
	if trimmed := strings.TrimSpace(text); len(parts) > 0 && (trimmed == parts[0] || trimmed == "") {
		s.Emit(Invocation{Words: []argv.Field{{Text: text, Dynamic: parts}}})
		s.forgetAll()
		return
	}
	defer func(t []string) { s.Taint = t }(s.Taint)
	s.Taint = slices.Concat(s.Taint, parts)
	s.Source(text)
}

// Script walks text in a new shell of its own.
func (s *Shell) Script(text string) {
	s.inherit(nil)
	s.Source(text)
}

// inherit turns a copy of a shell into one that was started as a process: of
// variables it has what was exported. Which were is not kept, so all that the
// text set are unknown, but for those set for the command itself.
func (s *Shell) inherit(assigns []argv.Field) {
	for k := range s.Vars {
		s.Vars[k] = Variable{}
	}
	delete(s.Vars, "IFS")
	clear(s.funcs)
	clear(s.aliases)
	s.params, s.args, s.paramsKnown, s.script = nil, nil, false, ""
	s.Env = s.Overlaid(s.Env, assigns...)
	for _, a := range assigns {
		name, value, _ := strings.Cut(a.Text, "=")
		s.Vars[name] = Variable{Values: []string{value}, Known: a.Sure()}
	}
}
