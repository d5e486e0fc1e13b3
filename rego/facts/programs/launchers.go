package programs

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// starterOf finds the follower of a program that starts others.
func starterOf(name string) shell.Follower {
	switch name {
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

// xargs runs a command with words that it reads.
func xargs(s *shell.Shell, in shell.Invocation) bool {
	w := shell.Wrapper{Valued: "aEILnPsdJRS", Long: "arg-file delimiter eof max-args max-procs max-chars max-lines replace process-slot-var"}
	i, o := s.CommandAt(w, in.Words)
	if files := append(o.Values("a", ""), o.CutShort("arg-file")...); len(files) > 0 { // it reads no standard input
		s = s.Sub()
		s.Stdin = shell.Stream{Kind: "file", File: files[0].Text, Origin: s.FileOrigin(files[0])}
		s.Touch(files[0], collect.AccessRead)
	}
	replace := ""
	for _, v := range append(o.Values("IJ", ""), o.Values("", "replace")...) {
		replace = v.Text
	}
	if o.Has("i", "replace") && replace == "" {
		replace = "{}"
	}
	next := in.Under("xargs")
	next.Words, next.Plain = slices.Clone(in.Words[i:]), true
	if len(next.Words) == 0 {
		next.Words = []argv.Field{{Text: "echo"}}
	}
	input, known := inputWords(s, o)
	switch {
	case replace != "":
		for j, f := range next.Words {
			if !strings.Contains(f.Text, replace) {
				continue
			}
			if known && len(input) == 1 {
				next.Words[j].Text = replaceAll(s, f.Text, replace, input[0].Text)
			} else {
				if f.Known() {
					next.Words[j].Origin = s.Stdin.Origin
				}
				next.Words[j].Dynamic = append(slices.Clip(f.Dynamic), replace)
			}
		}
	case known && len(o.Values("nL", "max-args")) > 0:
		inGroups(s, next, input, o.Values("nL", "max-args")[0].Text)
		return true
	case known:
		next.Words = append(next.Words, input...)
	default:
		next.Words = append(next.Words, argv.Field{Stdin: true, Origin: s.Stdin.Origin, Within: s.Stdin.Within})
	}
	s.Run(next)
	return true
}

// inGroups runs a command with so many words at a time.
func inGroups(s *shell.Shell, in shell.Invocation, words []argv.Field, size string) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 1 || len(words)/n > shell.MaxRounds {
		in.Words = append(in.Words, argv.Field{Stdin: true})
		s.Run(in)
		return
	}
	if len(words) == 0 {
		s.Run(in) // without input it runs once
	}
	for group := range slices.Chunk(words, n) {
		one := in
		one.Words = slices.Concat(in.Words, group)
		s.Run(one)
	}
}

// replaceAll writes a value in the place of every old.
func replaceAll(s *shell.Shell, text, old, value string) string {
	s.Found.Grown(len(text), strings.Count(text, old)*len(value))
	return strings.ReplaceAll(text, old, value)
}

// inputWords are the words on standard input, where they are known and plain.
func inputWords(s *shell.Shell, o argv.Options) ([]argv.Field, bool) {
	if !s.Stdin.Known || strings.ContainsAny(s.Stdin.Text, `'"\`) || o.Has("a0d", "") || len(o.Long) > 0 {
		return nil, false
	}
	var words []argv.Field
	for _, w := range argv.BlankFields(s.Stdin.Text) {
		words = append(words, argv.Field{Text: w})
	}
	return words, true
}

// find walks folders and may delete, or run a command on, what it meets.
func find(s *shell.Shell, in shell.Invocation) bool {
	words := in.Words[1:]
	i := 0
	for i < len(words) && (words[i].Text == "-H" || words[i].Text == "-L" || words[i].Text == "-P") {
		i++
	}
	var roots []argv.Field
	for ; i < len(words) && !strings.HasPrefix(words[i].Text, "-") && words[i].Text != "(" && words[i].Text != "!"; i++ {
		roots = append(roots, words[i])
	}
	if len(roots) == 0 {
		roots = []argv.Field{{Text: "."}}
	}
	in.Roots = nil
	in.Deletes = slices.ContainsFunc(words[i:], func(f argv.Field) bool { return f.Text == "-delete" })
	s.Emit(in)
	for _, r := range roots {
		s.Touch(r, collect.AccessRead)
	}
	for ; i < len(words); i++ {
		switch t := words[i].Text; t {
		case "-delete":
			s.Found.Facts.Impact.Recursive = true
			named := onlyName(words[:i])
			for _, r := range roots {
				s.Touch(below(s, r, named), collect.AccessDelete)
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(words) {
				s.Touch(words[i+1], collect.AccessWrite)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			i = findExec(s, in, words, i, roots)
		}
	}
	return true
}

// findExec runs the command after -exec and returns where it ends.
func findExec(s *shell.Shell, in shell.Invocation, words []argv.Field, i int, roots []argv.Field) int {
	next := in.Under("find " + words[i].Text)
	next.Words, next.Plain, next.Named = nil, true, onlyName(words[:i])
	found := s.PrintedBy(append([]argv.Field{{Text: "find"}}, words[:i]...), argv.OriginAny)
	within := s.FindsWithin(roots, words[:i])
	for i++; i < len(words) && words[i].Text != ";"; i++ {
		if words[i].Text == "+" && len(next.Words) > 0 && next.Words[len(next.Words)-1].Text == "{}" {
			break
		}
		w := words[i]
		if strings.Contains(w.Text, "{}") {
			if w.Known() {
				w.Origin, w.Within = found, within && w.Text == "{}"
			}
			w.Dynamic = append(slices.Clip(w.Dynamic), "{}")
		}
		next.Words = append(next.Words, w)
	}
	for _, r := range roots {
		next.Roots = append(next.Roots, r.Text)
	}
	next.Narrow = slices.ContainsFunc(words[:i], func(f argv.Field) bool {
		return wordlist.Has("-name -iname -path -ipath -wholename -regex -iregex", f.Text)
	})
	s.Run(next)
	return i
}

// onlyName is the pattern of the names that find's words leave, which begin with its
// roots: where each of them only narrows what is found, and one says the name. Empty where
// that cannot be told.
func onlyName(words []argv.Field) (name string) {
	tests := slices.IndexFunc(words, func(f argv.Field) bool { return strings.HasPrefix(f.Text, "-") || f.Text == "(" || f.Text == "!" })
	for i := max(tests, 0); i < len(words); i++ {
		w := words[i]
		switch {
		case !w.Known():
			return ""
		case w.Text == "-name" && i+1 < len(words) && words[i+1].Known():
			i++
			name = words[i].Text
		case wordlist.Has("-type -maxdepth -mindepth -mtime -mmin -size -newer", w.Text):
			i++
		case wordlist.Has("-not !", w.Text) && i+2 < len(words) && wordlist.Has("-path -ipath", words[i+1].Text):
			i += 2
		case wordlist.Has("-prune -depth -empty -print -xdev -mount", w.Text):
		default:
			return ""
		}
	}
	if strings.Contains(name, "/") {
		return ""
	}
	return name
}

// below is what find meets below a root: all of it, or what has a name. The folder itself
// is not met by a name where it has another.
func below(s *shell.Shell, root argv.Field, name string) argv.Field {
	if name == "" || !s.Stays(root) || root.Glob {
		return root
	}
	return argv.Field{Text: path.Join(root.Text, "**", name)}
}

// fd is find by another name: -x and -X run a command.
func fd(s *shell.Shell, in shell.Invocation) bool {
	for i, w := range in.Words {
		switch w.Text {
		case "-x", "-X", "--exec", "--exec-batch":
			next := in.Under("fd " + w.Text)
			next.Plain = true
			next.Words = append(slices.Clone(in.Words[i+1:]), argv.Field{Stdin: true, Origin: argv.OriginNames})
			in.Words = in.Words[:i]
			s.Emit(in)
			s.Run(next)
			return true
		}
	}
	return false
}

// parallel is GNU parallel: its words, joined, are shell text in which {}
// stands for an input.
func parallel(s *shell.Shell, in shell.Invocation) bool {
	w := shell.Wrapper{Valued: "jaNnSILPsdE", Long: "jobs arg-file delay timeout colsep joblog results sshlogin tmpdir max-args max-procs retries workdir"}
	i, _ := s.CommandAt(w, in.Words)
	words := in.Words[i:]
	sources := slices.IndexFunc(words, func(f argv.Field) bool { return strings.HasPrefix(f.Text, ":::") })
	var values []argv.Field
	if sources >= 0 {
		values, words = words[sources+1:], words[:sources]
	}
	next := in.Under("parallel")
	if len(words) == 0 {
		for _, v := range values {
			s.CodeText(v, next)
		}
		if len(values) == 0 {
			next.Words = append(slices.Clip(in.Words), argv.Field{Stdin: true})
			s.Emit(next)
		}
		return true
	}
	text := argv.Join(words, " ")
	if plainValues(values) && in.Words[i+sources].Text == ":::" {
		if !strings.Contains(text, "{") {
			text += " {}"
		}
		for _, v := range values {
			s.CodeText(argv.Field{Text: replaceAll(s, text, "{}", v.Text), Dynamic: argv.Dynamics(words)}, next)
		}
		return true
	}
	s.CodeText(argv.Field{Text: text, Dynamic: append(argv.Dynamics(words), "{}")}, next)
	return true
}

// benchmark is hyperfine: each of its operands is a line that a shell runs.
func benchmark(s *shell.Shell, in shell.Invocation) bool {
	o := argv.ParseOptions(in.Words[1:], "wmMrspcSuLPDn", "warmup min-runs max-runs runs setup prepare conclude cleanup shell time-unit style export-asciidoc export-csv export-json export-markdown export-orgmode output input command-name parameter-list parameter-scan parameter-step-size")
	s.Emit(in)
	for _, long := range []string{"export-asciidoc", "export-csv", "export-json", "export-markdown", "export-orgmode"} {
		for _, f := range o.Values("", long) {
			s.Pours(f, func() { use(s, in, f, collect.AccessWrite) })
			s.Claims(f, in.Words)
		}
	}
	for _, f := range o.Values("S", "shell") {
		s.CodeText(f, in.Under("hyperfine"))
	}
	lines := o.Operands
	for _, long := range []string{"setup", "prepare", "conclude", "cleanup"} {
		lines = append(lines, o.Values(long[:1], long)...)
	}
	for _, f := range lines {
		s.CodeText(f, in.Under("hyperfine"))
	}
	return true
}

// plainValues reports whether all values are known, and few.
func plainValues(values []argv.Field) bool {
	for _, v := range values {
		if !v.Known() || strings.HasPrefix(v.Text, ":::") {
			return false
		}
	}
	return len(values) > 0 && len(values) <= shell.MaxRounds
}

// container is docker, podman and kubectl: exec and run start a command in
// another place, with folders of this one mounted.
func container(s *shell.Shell, in shell.Invocation) bool {
	s.Emit(in)
	words := in.Words[1:]
	verb := slices.IndexFunc(words, startsInContainer)
	if verb < 0 {
		return true
	}
	i, o := s.CommandAt(containerOptions, words[verb:])
	rest := words[verb:][i:]
	for _, v := range append(o.Values("v", "volume"), o.Values("", "mount")...) {
		mount(s, v)
	}
	if len(rest) > 0 && rest[0].Text == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return true
	}
	sub := s.Sub()
	sub.Remote, sub.Dirs = true, nil
	next := in.Under(in.Name() + " " + words[verb].Text)
	next.Words, next.Plain = rest, true
	sub.Run(next)
	return true
}

func startsInContainer(f argv.Field) bool { return f.Text == "exec" || f.Text == "run" }

// containerOptions are those behind exec and run, before the container or the image.
var containerOptions = shell.Wrapper{Skip: 1, Valued: "vpewunhlmac", Long: "volume publish env workdir user name network entrypoint mount memory cpus hostname label env-file platform pull restart add-host device cap-add cap-drop security-opt gpus shm-size tmpfs ulimit ip link dns expose log-driver log-opt pid ipc detach-keys container namespace context image index env-from-file"}

// withinContainer reports whether the word at i is one of the command that runs in a
// container which is there, behind the name of its program: what the word does is said
// of that command.
func withinContainer(words []argv.Field, i int) bool {
	verb := slices.IndexFunc(words[:i], startsInContainer)
	if verb < 1 || words[verb].Text != "exec" {
		return false
	}
	at := verb + 1
	for at < i && strings.HasPrefix(words[at].Text, "-") {
		if !wordlist.Has("-T -i -t -it -ti --no-TTY --interactive --tty", words[at].Text) {
			return false
		}
		at++
	}
	return at+1 < i && !slices.ContainsFunc(words[:at+2], func(f argv.Field) bool { return !f.Known() || f.Glob })
}

// mount notes a folder of this machine that a container may write to.
func mount(s *shell.Shell, v argv.Field) {
	source, rest, _ := strings.Cut(v.Text, ":")
	for part := range strings.SplitSeq(v.Text, ",") {
		for _, key := range []string{"src=", "source="} {
			if p, ok := strings.CutPrefix(part, key); ok {
				source, rest = p, ""
			}
		}
	}
	access := collect.AccessWrite
	if rest == "ro" || strings.HasSuffix(rest, ":ro") || strings.Contains(v.Text, "readonly") {
		access = collect.AccessRead
	}
	if strings.ContainsAny(source, "/~$.") {
		s.Touch(argv.Field{Text: source, Dynamic: v.Dynamic}, access)
	}
}

// scheduled is at and batch: what they read runs later.
func scheduled(s *shell.Shell, in shell.Invocation) bool {
	s.Found.Path(collect.Ref{Text: "/var/spool/at/", Access: collect.AccessWrite})
	for _, f := range argv.ParseOptions(in.Words[1:], "qft", "").Values("f", "") {
		in.Unbound = append(in.Unbound, f.Text)
	}
	if s.Stdin.Known {
		sub := s.Sub(append(in.Via, in.Name())...)
		sub.Script(s.Stdin.Text)
	}
	s.Emit(in)
	return true
}

// crontab replaces the table of what runs by itself, unless it only lists.
func crontab(s *shell.Shell, in shell.Invocation) bool {
	o := argv.ParseOptions(in.Words[1:], "u", "")
	if !o.Has("l", "") {
		access := collect.AccessWrite
		if o.Has("r", "") {
			access = collect.AccessDelete
		}
		s.Found.Path(collect.Ref{Text: "/var/spool/cron/crontabs", Access: access, Remote: s.Remote})
	}
	for _, f := range o.Operands {
		if f.Text != "-" {
			in.Unbound = append(in.Unbound, f.Text)
			s.Touch(f, collect.AccessRead)
		}
	}
	if len(o.Operands) > 0 && o.Operands[0].Text == "-" && !s.Stdin.Known {
		in.Words = append(slices.Clip(in.Words), argv.Field{Stdin: true})
	}
	s.Emit(in)
	return true
}
