package facts

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A wrapper is a program that runs the command in its own arguments.
type wrapper struct {
	valued  string // short options that take a value
	long    string // long options that take a value
	skip    int    // operands before the command
	assigns bool   // NAME=value may stand before the command
	plain   bool   // skips functions and aliases of the shell
	solo    string // options with which it runs nothing
	code    bool   // -c takes shell text
	joined  bool   // its words are joined and given to a shell
	remote  bool   // the command runs in another place
}

// wrapperTable holds the wrappers that are taken off a command. Their options
// are those of coreutils, util-linux, sudo, and the BSDs where they add some.
var wrapperTable = sync.OnceValue(func() map[string]wrapper {
	return map[string]wrapper{
		"sudo":         {valued: "ugpCDhRrtTUa", long: "user group prompt chdir host role type close-from chroot command-timeout other-user", assigns: true, solo: "lvKkeV"},
		"doas":         {valued: "uCa", solo: "LC"},
		"pkexec":       {long: "user"},
		"env":          {valued: "uCSP", long: "unset chdir split-string", assigns: true},
		"nohup":        {},
		"setsid":       {},
		"time":         {valued: "fo", long: "format output"},
		"gtime":        {valued: "fo", long: "format output"},
		"timeout":      {valued: "ks", long: "kill-after signal", skip: 1},
		"gtimeout":     {valued: "ks", long: "kill-after signal", skip: 1},
		"nice":         {valued: "n", long: "adjustment"},
		"ionice":       {valued: "cnpPu", long: "class classdata"},
		"chrt":         {valued: "TPD", skip: 1},
		"taskset":      {skip: 1},
		"stdbuf":       {valued: "ioe", long: "input output error"},
		"unbuffer":     {},
		"chronic":      {},
		"command":      {plain: true, solo: "vV"},
		"builtin":      {plain: true},
		"exec":         {valued: "a"},
		"noglob":       {},
		"nocorrect":    {},
		"busybox":      {plain: true},
		"toybox":       {plain: true},
		"coreutils":    {plain: true, long: "coreutils-prog"},
		"strace":       {valued: "aeEopPsuIObSUX", long: "output"},
		"ltrace":       {valued: "aeopsuAFlnx"},
		"chroot":       {long: "userspec groups", skip: 1, remote: true},
		"unshare":      {valued: "RwSG", long: "root wd setuid setgid"},
		"nsenter":      {valued: "tSGrw", long: "target"},
		"fakeroot":     {valued: "lsib"},
		"proot":        {valued: "rbwqRS"},
		"systemd-run":  {valued: "pupEMH", long: "property unit uid gid slice setenv working-directory"},
		"caffeinate":   {valued: "tw"},
		"flock":        {valued: "wE", long: "timeout conflict-exit-code", skip: 1, code: true},
		"su":           {valued: "sgGwT", long: "shell group", code: true, solo: "*"},
		"runuser":      {valued: "usgGw", long: "user shell group", code: true},
		"sg":           {code: true, skip: 1},
		"script":       {valued: "EIOBTtmo", code: true, skip: 1},
		"watch":        {valued: "nq", long: "interval equexit", joined: true},
		"setpriv":      {long: "reuid regid groups"},
		"prlimit":      {},
		"xvfb-run":     {valued: "enspfw"},
		"rlwrap":       {},
		"firejail":     {},
		"torsocks":     {},
		"proxychains":  {valued: "f"},
		"arch":         {},
		"entr":         {},
		"dotenv":       {valued: "ef"},
		"direnv":       {skip: 2},
		"aws-vault":    {skip: 2},
		"ssh":          {valued: "bBcDEeFIiJLlmOopPQRSWw", skip: 1, joined: true, remote: true},
		"sshpass":      {valued: "pfdP"},
		"mosh":         {skip: 1, joined: true, remote: true},
		"proxychains4": {valued: "f"},
		"valgrind":     {long: "log-file xml-file callgrind-out-file massif-out-file cachegrind-out-file"},
		"bear":         {valued: "o", long: "output config"},
		"scan-build":   {valued: "o"},
		"ccache":       {},
		"sccache":      {},
		"c8":           {valued: "ron", long: "reporter reports-dir include exclude"},
		"nyc":          {valued: "rn", long: "reporter report-dir include exclude"},
		"cross-env":    {assigns: true},
	}
})

// unwrap runs the command inside of a wrapper. It reports false where there
// is none.
func (s *shell) unwrap(w wrapper, name string, in invocation) bool {
	i, opts := s.commandAt(w, in.words)
	in.as = cmp.Or(user(name, opts), in.as)
	if w.solo != "" && w.solo != "*" && opts.has(w.solo, "") {
		return false
	}
	s.wrapperOptions(name, opts)
	if i < len(in.words) && in.words[i].text == "-" && wordlist.Has("exec command builtin noglob nocorrect", name) {
		s.x.Fail("shell: a command that only zsh knows: %s -", name)
	}
	if w.code {
		if code := append(opts.values("c", "command"), opts.values("", "session-command")...); len(code) > 0 {
			s.codeText(code[0], in.under(name))
			return true
		}
	}
	if name == "env" {
		if split := opts.values("S", "split-string"); len(split) > 0 {
			text := join(split, " ") + " " + quoteAll(in.words[i:])
			s.codeText(field{text: text, dynamic: split[0].dynamic}, in.under(name))
			return true
		}
	}
	if name == "exec" && len(in.words) == 1 {
		return true // it redirects, and runs nothing
	}
	if i >= len(in.words) || w.solo == "*" {
		return w.skip > 0 && s.remoteInput(name, in)
	}
	sub := s
	if w.remote {
		sub = s.sub()
		sub.remote, sub.dirs = true, nil
		in.as = sub.elsewhere(name, opts)
	}
	if dir := opts.values("DC", "chdir"); (name == "env" || name == "sudo") && len(dir) > 0 {
		sub = s.sub()
		sub.moveTo(dir[0])
	}
	next := in.under(name)
	next.words, next.plain = in.words[i:], in.plain || w.plain || name != "exec" && name != "time"
	if w.joined && !opts.has("x", "exec") {
		sub.codeText(field{text: join(next.words, " "), dynamic: dynamics(next.words)}, next)
		return true
	}
	for w.assigns && len(next.words) > 0 && isAssignment(next.words[0]) {
		next.assigns = append(next.assigns, next.words[0])
		next.words = next.words[1:]
	}
	if len(next.words) == 0 {
		return false
	}
	sub.run(next)
	return true
}

// wrapperOptions notes what a wrapper itself does besides.
func (s *shell) wrapperOptions(name string, o options) {
	switch name {
	case "ssh", "mosh":
		if len(o.operands) > 0 {
			s.x.Host("ssh", o.operands[0].text)
		}
		s.sshOptions(o)
	case "systemd-run":
		s.x.Path(collect.Ref{Text: "/run/systemd/transient/", Access: collect.AccessWrite})
	case "direnv": // what is in the folder's file goes into the command's environment
		if len(o.operands) > 1 {
			s.touch(field{text: path.Join(o.operands[1].text, ".envrc"), dynamic: o.operands[1].dynamic}, collect.AccessRead)
		}
	case "script":
		for _, f := range o.operands[:min(1, len(o.operands))] {
			s.touch(f, collect.AccessWrite)
		}
	case "valgrind":
		for _, long := range []string{"log-file", "xml-file", "callgrind-out-file", "massif-out-file", "cachegrind-out-file"} {
			for _, f := range o.values("", long) {
				s.touch(f, collect.AccessWrite)
			}
		}
	case "strace", "ltrace", "time", "gtime":
		for _, f := range o.values("o", "output") {
			s.touch(f, collect.AccessWrite)
		}
	}
}

// sshOptions follows the commands that ssh would run here.
func (s *shell) sshOptions(o options) {
	for _, f := range o.values("o", "") {
		i := strings.IndexAny(f.text, "= ")
		if i < 0 {
			continue
		}
		switch key := f.text[:i]; strings.ToLower(key) {
		case "proxycommand", "localcommand", "knownhostscommand":
			s.codeText(field{text: strings.Trim(f.text[i:], "= "), dynamic: f.dynamic}, invocation{via: []string{"ssh -o " + key}})
		}
	}
	for _, f := range o.values("iFE", "") {
		s.touch(f, collect.AccessRead)
	}
}

// remoteInput follows what a remote shell would read from standard input.
func (s *shell) remoteInput(name string, in invocation) bool {
	if name != "ssh" || !s.stdin.known {
		return false
	}
	sub := s.sub(append(in.via, name)...)
	sub.remote, sub.dirs = true, nil
	_, opts := s.commandAt(wrapperTable()[name], in.words)
	sub.as = sub.elsewhere(name, opts)
	sub.script(s.stdin.text)
	return true
}

// user is the one as whom a wrapper runs its command, where it is one that
// changes that.
func user(name string, o options) string {
	switch name {
	case "sudo", "doas", "pkexec", "runuser", "su":
	default:
		return ""
	}
	if named := o.values("u", "user"); len(named) > 0 {
		return named[len(named)-1].text
	}
	for _, f := range o.operands {
		if name == "su" && f.text != "-" {
			return f.text
		}
	}
	return "root"
}

// elsewhere notes the machine that a wrapper leads to, and returns the user there
// where it names one.
func (s *shell) elsewhere(name string, o options) (as string) {
	s.as, s.on = "", ""
	if name != "ssh" && name != "mosh" || len(o.operands) == 0 {
		return ""
	}
	user, host, named := strings.Cut(o.operands[0].text, "@")
	if !named {
		s.on = user
		return ""
	}
	s.on = host
	return user
}

// commandAt finds the word at which the wrapped command begins, and the
// options before it.
func (s *shell) commandAt(w wrapper, words []field) (int, options) {
	i, left := 1, w.skip
	var before []field
	for i < len(words) {
		t := words[i].text
		if t == "--" {
			i++
			break
		}
		if t == "-" && w.assigns {
			i++ // env - stands for env -i
			continue
		}
		if len(t) < 2 || t[0] != '-' || words[i].stdin {
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
			if wordlist.Has(w.long, t[2:]) || w.code && t == "--command" {
				n = 2
			}
		default:
			n = 1 + clusterWords(t, valuedOf(w))
		}
		n = min(n, len(words)-i)
		before = append(before, words[i:i+n]...)
		i += n
	}
	for ; left > 0 && i < len(words); left-- {
		before = append(before, words[i])
		i++
	}
	return i, parseOptions(before, valuedOf(w), w.long+" command session-command")
}

func valuedOf(w wrapper) string {
	if w.code {
		return w.valued + "c"
	}
	return w.valued
}

// hasCode reports whether a -c stands further on, as in "su user -c CODE".
func hasCode(words []field) bool {
	for _, w := range words {
		if w.text == "-c" || strings.HasPrefix(w.text, "--command") {
			return true
		}
	}
	return false
}

// clusterWords is how many further words a cluster of short options takes.
func clusterWords(t, valued string) int {
	for j := 1; j < len(t); j++ {
		if strings.IndexByte(valued, t[j]) >= 0 {
			if j == len(t)-1 {
				return 1
			}
			return 0
		}
	}
	return 0
}

func isAssignment(f field) bool {
	name, _, ok := strings.Cut(f.text, "=")
	return ok && name != "" && !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "/ ")
}

func dynamics(fs []field) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.dynamic...)
		if f.stdin {
			out = append(out, "stdin")
		}
	}
	return out
}

// codeText walks shell text that a command hands to a shell of its own.
func (s *shell) codeText(code field, in invocation) {
	sub := s.sub(in.via...)
	sub.as = cmp.Or(in.as, s.as)
	sub.inherit(in.assigns)
	sub.made(code.text, dynamics([]field{code}))
}

// made walks text that was put together at run time out of the given parts,
// and of what is known.
func (s *shell) made(text string, parts []string) {
	if trimmed := strings.TrimSpace(text); len(parts) > 0 && (trimmed == parts[0] || trimmed == "") {
		s.emit(invocation{words: []field{{text: text, dynamic: parts}}})
		s.forgetAll()
		return
	}
	defer func(t []string) { s.taint = t }(s.taint)
	s.taint = slices.Concat(s.taint, parts)
	s.source(text)
}

// script walks text in a new shell of its own.
func (s *shell) script(text string) {
	s.inherit(nil)
	s.source(text)
}

// inherit turns a copy of a shell into one that was started as a process: of
// variables it has what was exported. Which were is not kept, so all that the
// text set are unknown, but for those set for the command itself.
func (s *shell) inherit(assigns []field) {
	for k := range s.vars {
		s.vars[k] = variable{}
	}
	delete(s.vars, "IFS")
	clear(s.funcs)
	clear(s.aliases)
	s.params, s.args, s.paramsKnown = nil, nil, false
	s.env = s.overlaid(s.env, assigns...)
	for _, a := range assigns {
		name, value, _ := strings.Cut(a.text, "=")
		s.vars[name] = variable{values: []string{value}, known: a.known()}
	}
}
