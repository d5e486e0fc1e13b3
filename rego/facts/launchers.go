package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// xargs runs a command with words that it reads.
func xargs(s *shell, in invocation) bool {
	w := wrapper{valued: "aEILnPsdJRS", long: "arg-file delimiter eof max-args max-procs max-chars max-lines replace process-slot-var"}
	i, o := s.commandAt(w, in.words)
	replace := ""
	for _, v := range append(o.values("IJ", ""), o.values("", "replace")...) {
		replace = v.text
	}
	if o.has("i", "replace") && replace == "" {
		replace = "{}"
	}
	next := in.under("xargs")
	next.words, next.plain = slices.Clone(in.words[i:]), true
	if len(next.words) == 0 {
		next.words = []field{{text: "echo"}}
	}
	input, known := s.inputWords(o)
	switch {
	case replace != "":
		for j, f := range next.words {
			if !strings.Contains(f.text, replace) {
				continue
			}
			if known && len(input) == 1 {
				next.words[j].text = s.replaceAll(f.text, replace, input[0].text)
			} else {
				if f.known() {
					next.words[j].origin = s.stdin.origin
				}
				next.words[j].dynamic = append(slices.Clip(f.dynamic), replace)
			}
		}
	case known && len(o.values("nL", "max-args")) > 0:
		s.inGroups(next, input, o.values("nL", "max-args")[0].text)
		return true
	case known:
		next.words = append(next.words, input...)
	default:
		next.words = append(next.words, field{stdin: true, origin: s.stdin.origin, within: s.stdin.within})
	}
	s.run(next)
	return true
}

// inGroups runs a command with so many words at a time.
func (s *shell) inGroups(in invocation, words []field, size string) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 1 || len(words)/n > maxRounds {
		in.words = append(in.words, field{stdin: true})
		s.run(in)
		return
	}
	if len(words) == 0 {
		s.run(in) // without input it runs once
	}
	for group := range slices.Chunk(words, n) {
		one := in
		one.words = slices.Concat(in.words, group)
		s.run(one)
	}
}

// replaceAll writes a value in the place of every old.
func (s *shell) replaceAll(text, old, value string) string {
	s.x.Grown(len(text), strings.Count(text, old)*len(value))
	return strings.ReplaceAll(text, old, value)
}

// inputWords are the words on standard input, where they are known and plain.
func (s *shell) inputWords(o options) ([]field, bool) {
	if !s.stdin.known || strings.ContainsAny(s.stdin.text, `'"\`) || o.has("a0d", "") || len(o.long) > 0 {
		return nil, false
	}
	var words []field
	for _, w := range blankFields(s.stdin.text) {
		words = append(words, field{text: w})
	}
	return words, true
}

// blankFields are the words of a text between blanks, tabs and ends of lines: no
// other space ends one.
func blankFields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
}

// find walks folders and may delete, or run a command on, what it meets.
func find(s *shell, in invocation) bool {
	words := in.words[1:]
	i := 0
	for i < len(words) && (words[i].text == "-H" || words[i].text == "-L" || words[i].text == "-P") {
		i++
	}
	var roots []field
	for ; i < len(words) && !strings.HasPrefix(words[i].text, "-") && words[i].text != "(" && words[i].text != "!"; i++ {
		roots = append(roots, words[i])
	}
	if len(roots) == 0 {
		roots = []field{{text: "."}}
	}
	in.roots = nil
	s.emit(in)
	for _, r := range roots {
		s.touch(r, collect.AccessRead)
	}
	for ; i < len(words); i++ {
		switch t := words[i].text; t {
		case "-delete":
			s.x.Facts.Impact.Recursive = true
			for _, r := range roots {
				s.touch(r, collect.AccessDelete)
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(words) {
				s.touch(words[i+1], collect.AccessWrite)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			i = s.findExec(in, words, i, roots)
		}
	}
	return true
}

// findExec runs the command after -exec and returns where it ends.
func (s *shell) findExec(in invocation, words []field, i int, roots []field) int {
	next := in.under("find " + words[i].text)
	next.words, next.plain = nil, true
	found := s.printedBy(append([]field{{text: "find"}}, words[:i]...), originAny)
	within := s.findsWithin(roots, words[:i])
	for i++; i < len(words) && words[i].text != ";"; i++ {
		if words[i].text == "+" && len(next.words) > 0 && next.words[len(next.words)-1].text == "{}" {
			break
		}
		w := words[i]
		if strings.Contains(w.text, "{}") {
			if w.known() {
				w.origin, w.within = found, within && w.text == "{}"
			}
			w.dynamic = append(slices.Clip(w.dynamic), "{}")
		}
		next.words = append(next.words, w)
	}
	for _, r := range roots {
		next.roots = append(next.roots, r.text)
	}
	next.narrow = slices.ContainsFunc(words[:i], func(f field) bool { return wordlist.Has("-name -iname -path -ipath -wholename -regex -iregex", f.text) })
	s.run(next)
	return i
}

// fd is find by another name: -x and -X run a command.
func fd(s *shell, in invocation) bool {
	for i, w := range in.words {
		switch w.text {
		case "-x", "-X", "--exec", "--exec-batch":
			next := in.under("fd " + w.text)
			next.plain = true
			next.words = append(slices.Clone(in.words[i+1:]), field{stdin: true, origin: originNames})
			in.words = in.words[:i]
			s.emit(in)
			s.run(next)
			return true
		}
	}
	return false
}

// parallel is GNU parallel: its words, joined, are shell text in which {}
// stands for an input.
func parallel(s *shell, in invocation) bool {
	w := wrapper{valued: "jaNnSILPsdE", long: "jobs arg-file delay timeout colsep joblog results sshlogin tmpdir max-args max-procs retries workdir"}
	i, _ := s.commandAt(w, in.words)
	words := in.words[i:]
	sources := slices.IndexFunc(words, func(f field) bool { return strings.HasPrefix(f.text, ":::") })
	var values []field
	if sources >= 0 {
		values, words = words[sources+1:], words[:sources]
	}
	next := in.under("parallel")
	if len(words) == 0 {
		for _, v := range values {
			s.codeText(v, next)
		}
		if len(values) == 0 {
			next.words = append(slices.Clip(in.words), field{stdin: true})
			s.emit(next)
		}
		return true
	}
	text := join(words, " ")
	if plainValues(values) && in.words[i+sources].text == ":::" {
		if !strings.Contains(text, "{") {
			text += " {}"
		}
		for _, v := range values {
			s.codeText(field{text: s.replaceAll(text, "{}", v.text), dynamic: dynamics(words)}, next)
		}
		return true
	}
	s.codeText(field{text: text, dynamic: append(dynamics(words), "{}")}, next)
	return true
}

// benchmark is hyperfine: each of its operands is a line that a shell runs.
func benchmark(s *shell, in invocation) bool {
	o := parseOptions(in.words[1:], "wmMrspcSuLPDn", "warmup min-runs max-runs runs setup prepare conclude cleanup shell time-unit style export-asciidoc export-csv export-json export-markdown export-orgmode output input command-name parameter-list parameter-scan parameter-step-size")
	s.emit(in)
	for _, long := range []string{"export-asciidoc", "export-csv", "export-json", "export-markdown", "export-orgmode"} {
		s.useAll(in, o.values("", long), collect.AccessWrite)
	}
	for _, f := range o.values("S", "shell") {
		s.codeText(f, in.under("hyperfine"))
	}
	lines := o.operands
	for _, long := range []string{"setup", "prepare", "conclude", "cleanup"} {
		lines = append(lines, o.values(long[:1], long)...)
	}
	for _, f := range lines {
		s.codeText(f, in.under("hyperfine"))
	}
	return true
}

// plainValues reports whether all values are known, and few.
func plainValues(values []field) bool {
	for _, v := range values {
		if !v.known() || strings.HasPrefix(v.text, ":::") {
			return false
		}
	}
	return len(values) > 0 && len(values) <= maxRounds
}

// container is docker, podman and kubectl: exec and run start a command in
// another place, with folders of this one mounted.
func container(s *shell, in invocation) bool {
	s.emit(in)
	words := in.words[1:]
	verb := slices.IndexFunc(words, func(f field) bool { return f.text == "exec" || f.text == "run" })
	if verb < 0 {
		return true
	}
	w := wrapper{skip: 1, valued: "vpewunhlmac", long: "volume publish env workdir user name network entrypoint mount memory cpus hostname label env-file platform pull restart add-host device cap-add cap-drop security-opt gpus shm-size tmpfs ulimit ip link dns expose log-driver log-opt pid ipc detach-keys container namespace context image index env-from-file"}
	i, o := s.commandAt(w, words[verb:])
	rest := words[verb:][i:]
	for _, v := range append(o.values("v", "volume"), o.values("", "mount")...) {
		s.mount(v)
	}
	if len(rest) > 0 && rest[0].text == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return true
	}
	sub := s.sub()
	sub.remote, sub.dirs = true, nil
	next := in.under(in.name() + " " + words[verb].text)
	next.words, next.plain = rest, true
	sub.run(next)
	return true
}

// mount notes a folder of this machine that a container may write to.
func (s *shell) mount(v field) {
	source, rest, _ := strings.Cut(v.text, ":")
	for part := range strings.SplitSeq(v.text, ",") {
		for _, key := range []string{"src=", "source="} {
			if p, ok := strings.CutPrefix(part, key); ok {
				source, rest = p, ""
			}
		}
	}
	access := collect.AccessWrite
	if rest == "ro" || strings.HasSuffix(rest, ":ro") || strings.Contains(v.text, "readonly") {
		access = collect.AccessRead
	}
	if strings.ContainsAny(source, "/~$.") {
		s.touch(field{text: source, dynamic: v.dynamic}, access)
	}
}

// scheduled is at and batch: what they read runs later.
func scheduled(s *shell, in invocation) bool {
	s.x.Path(collect.Ref{Text: "/var/spool/at/", Access: collect.AccessWrite})
	for _, f := range parseOptions(in.words[1:], "qft", "").values("f", "") {
		in.unbound = append(in.unbound, f.text)
	}
	if s.stdin.known {
		sub := s.sub(append(in.via, in.name())...)
		sub.script(s.stdin.text)
	}
	s.emit(in)
	return true
}

// crontab replaces the table of what runs by itself, unless it only lists.
func crontab(s *shell, in invocation) bool {
	o := parseOptions(in.words[1:], "u", "")
	if !o.has("l", "") {
		access := collect.AccessWrite
		if o.has("r", "") {
			access = collect.AccessDelete
		}
		s.x.Path(collect.Ref{Text: "/var/spool/cron/crontabs", Access: access, Remote: s.remote})
	}
	for _, f := range o.operands {
		if f.text != "-" {
			in.unbound = append(in.unbound, f.text)
			s.touch(f, collect.AccessRead)
		}
	}
	if len(o.operands) > 0 && o.operands[0].text == "-" && !s.stdin.known {
		in.words = append(slices.Clip(in.words), field{stdin: true})
	}
	s.emit(in)
	return true
}
