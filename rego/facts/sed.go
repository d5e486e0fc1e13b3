package facts

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/snippet"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// sedCommand is sed, which writes in place with -i and has commands that run
// (e) and write (w).
func sedCommand(s *shell, in invocation, c *Command) {
	o := parseOptions(in.words[1:], "efl", "expression file line-length")
	scripts := o.values("e", "expression")
	files := o.operands
	if len(scripts) == 0 && len(o.values("f", "file")) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, f := range o.values("f", "file") {
		if text, ok := s.content(f); ok { // the line has written it
			scripts = append(scripts, field{text: text})
			s.touch(f, collect.AccessRead)
			continue
		}
		c.Unbound = append(c.Unbound, f.text)
	}
	access := collect.AccessRead
	if o.has("iI", "in-place") {
		access = collect.AccessWrite
		if slices.ContainsFunc(scripts, deletesAll) {
			access = collect.AccessDelete
		}
	}
	for _, w := range in.words[1:] {
		if end, ok := strings.CutPrefix(w.text, "-i"); ok && end != "" {
			for _, f := range files {
				s.besides(f.text, end)
			}
		}
	}
	for _, f := range files {
		if f.within && access == collect.AccessWrite {
			f = field{text: "*", glob: true}
		}
		if f.text != "" {
			s.use(in, f, access)
		}
		if access == collect.AccessWrite {
			s.puts(f, join(scripts, "\n"))
		}
	}
	reads := s.sedReads(files)
	if !slices.ContainsFunc(scripts, func(f field) bool { return !f.known() }) && s.sedRead(join(scripts, "\n"), reads, c) {
		return
	}
	for _, f := range scripts {
		s.sedScript(f, reads, c)
	}
}

// sedRead notes what a script of sed does. It reports false where it cannot be
// read, and it is unresolved then.
func (s *shell) sedRead(script string, reads content, c *Command) bool {
	s.x.Work(1 + len(script)/16)
	e, err := snippet.Read("sed", script)
	if err != nil || len(e.Unseen)+len(e.Shell) > 0 { // it runs its command for each line
		c.Unresolved = append(c.Unresolved, shorten(script))
	}
	for _, p := range e.Reads {
		s.touch(field{text: p.Path}, collect.AccessRead)
	}
	for _, p := range e.Writes {
		out := field{text: p.Path}
		s.touch(out, s.replaces(out, reads))
	}
	for _, line := range e.Shell {
		s.started(line, c.Program)
	}
	return err == nil
}

// deletesAll reports whether a script of sed deletes every line.
func deletesAll(f field) bool {
	return wordlist.Has("d $!d;$d 1,$d 0,$d //d /./,$d /^/d /$/d /.*/d", strings.ReplaceAll(strings.TrimRight(f.text, "; \n"), " ", ""))
}

// sedReads is what sed has to write elsewhere: nothing where it reads nothing.
func (s *shell) sedReads(files []field) content {
	if len(files) == 0 && s.stdin.nothing() || len(files) > 0 && !slices.ContainsFunc(files, func(f field) bool { return !wordlist.Has(emptyDevices, f.text) }) {
		return contentNothing
	}
	return contentText
}

// sedScript looks for the commands e and w, and the flags of s that do the
// same. It errs on the side of seeing them.
func (s *shell) sedScript(f field, reads content, c *Command) {
	for line := range strings.FieldsFuncSeq(f.text, func(r rune) bool { return r == '\n' || r == ';' || r == '{' || r == '}' }) {
		line = strings.TrimSpace(line)
		cmd := strings.TrimLeft(line, "0123456789,$+~!- ")
		if strings.HasPrefix(cmd, "/") {
			if _, after, ok := strings.Cut(cmd[1:], "/"); ok {
				cmd = strings.TrimLeft(after, "I !,")
			}
		}
		switch {
		case strings.HasPrefix(cmd, "e ") || cmd == "e":
			c.Unresolved = append(c.Unresolved, shorten(f.text))
			s.runsInCode(strings.TrimSpace(cmd[1:]), c.Program)
		case strings.HasPrefix(cmd, "w "), strings.HasPrefix(cmd, "W "):
			out := field{text: strings.TrimSpace(cmd[2:])}
			s.touch(out, s.replaces(out, reads))
		case strings.HasPrefix(cmd, "r "):
			s.touch(field{text: strings.TrimSpace(cmd[2:])}, collect.AccessRead)
		case strings.HasPrefix(cmd, "s") && len(cmd) > 2:
			s.sedFlags(cmd, f, c)
		}
	}
}

func (s *shell) sedFlags(cmd string, f field, c *Command) {
	i := strings.LastIndexByte(cmd, cmd[1])
	if i < 2 {
		return
	}
	flags, file, writes := strings.Cut(cmd[i+1:], "w")
	if strings.Contains(flags, "e") {
		c.Unresolved = append(c.Unresolved, shorten(f.text))
	}
	if writes && strings.TrimSpace(file) != "" {
		s.touch(field{text: strings.TrimSpace(file)}, collect.AccessWrite)
	}
}
