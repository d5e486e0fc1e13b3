package programs

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/snippet"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// sedCommand is sed, which writes in place with -i and has commands that run
// (e) and write (w).
func sedCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	o := argv.ParseOptions(in.Words[1:], "efl", "expression file line-length")
	scripts := o.Values("e", "expression")
	files := o.Operands
	if len(scripts) == 0 && len(o.Values("f", "file")) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, f := range o.Values("f", "file") {
		if text, ok := s.Content(f); ok { // the line has written it
			scripts = append(scripts, argv.Field{Text: text})
			s.Touch(f, collect.AccessRead)
			continue
		}
		c.Unbound = append(c.Unbound, f.Text)
	}
	access := collect.AccessRead
	if o.Has("iI", "in-place") {
		access = collect.AccessWrite
		if slices.ContainsFunc(scripts, deletesAll) {
			access = collect.AccessDelete
		}
	}
	for _, w := range in.Words[1:] {
		if end, ok := strings.CutPrefix(w.Text, "-i"); ok && end != "" {
			for _, f := range files {
				s.Besides(f.Text, end)
			}
		}
	}
	for _, f := range files {
		switch {
		case f.Within && access == collect.AccessWrite:
			f = listed(s)
		case f.Text != "":
			use(s, in, f, access)
		}
		if access == collect.AccessWrite {
			s.Puts(f, argv.Join(scripts, "\n"))
		}
	}
	reads := sedReads(s, files)
	if !slices.ContainsFunc(scripts, func(f argv.Field) bool { return !f.Known() }) && sedRead(s, argv.Join(scripts, "\n"), reads, c) {
		return
	}
	for _, f := range scripts {
		sedScript(s, f, reads, c)
	}
}

// listed touches the files of the project that a listing has named, which are edited, and
// returns the word that stands for them.
func listed(s *shell.Shell) argv.Field {
	f := argv.Field{Text: "*", Glob: true}
	s.Reaching(collect.ReachListed, func() { s.Touch(f, collect.AccessWrite) })
	return f
}

// sedRead notes what a script of sed does. It reports false where it cannot be
// read, and it is unresolved then.
func sedRead(s *shell.Shell, script string, reads shell.Content, c *holdgate.Command) bool {
	s.Found.Work(1 + len(script)/16)
	e, err := snippet.Read("sed", script)
	if err != nil || len(e.Unseen)+len(e.Shell) > 0 { // it runs its command for each line
		c.Unresolved = append(c.Unresolved, Shorten(script))
	}
	for _, p := range e.Reads {
		s.Touch(argv.Field{Text: p.Path}, collect.AccessRead)
	}
	for _, p := range e.Writes {
		out := argv.Field{Text: p.Path}
		s.Touch(out, s.Replaces(out, reads))
	}
	for _, line := range e.Shell {
		started(s, line, c.Program)
	}
	return err == nil
}

// deletesAll reports whether a script of sed deletes every line.
func deletesAll(f argv.Field) bool {
	return wordlist.Has("d $!d;$d 1,$d 0,$d //d /./,$d /^/d /$/d /.*/d", strings.ReplaceAll(strings.TrimRight(f.Text, "; \n"), " ", ""))
}

// sedReads is what sed has to write elsewhere: nothing where it reads nothing.
func sedReads(s *shell.Shell, files []argv.Field) shell.Content {
	if len(files) == 0 && s.Stdin.Nothing() || len(files) > 0 && !slices.ContainsFunc(files, func(f argv.Field) bool { return !wordlist.Has(shell.EmptyDevices, f.Text) }) {
		return shell.ContentNothing
	}
	return shell.ContentText
}

// sedScript looks for the commands e and w, and the flags of s that do the
// same. It errs on the side of seeing them.
func sedScript(s *shell.Shell, f argv.Field, reads shell.Content, c *holdgate.Command) {
	for line := range strings.FieldsFuncSeq(f.Text, func(r rune) bool { return r == '\n' || r == ';' || r == '{' || r == '}' }) {
		line = strings.TrimSpace(line)
		cmd := strings.TrimLeft(line, "0123456789,$+~!- ")
		if strings.HasPrefix(cmd, "/") {
			if _, after, ok := strings.Cut(cmd[1:], "/"); ok {
				cmd = strings.TrimLeft(after, "I !,")
			}
		}
		switch {
		case strings.HasPrefix(cmd, "e ") || cmd == "e":
			c.Unresolved = append(c.Unresolved, Shorten(f.Text))
			runsInCode(s, strings.TrimSpace(cmd[1:]), c.Program)
		case strings.HasPrefix(cmd, "w "), strings.HasPrefix(cmd, "W "):
			out := argv.Field{Text: strings.TrimSpace(cmd[2:])}
			s.Touch(out, s.Replaces(out, reads))
		case strings.HasPrefix(cmd, "r "):
			s.Touch(argv.Field{Text: strings.TrimSpace(cmd[2:])}, collect.AccessRead)
		case strings.HasPrefix(cmd, "s") && len(cmd) > 2:
			sedFlags(s, cmd, f, c)
		}
	}
}

// sedFlags notes what the flags of a substitution do, at the third of its delimiters.
func sedFlags(s *shell.Shell, cmd string, f argv.Field, c *holdgate.Command) {
	i := 1
	for n, escaped := 1, false; n < 3; n++ {
		for i++; i < len(cmd) && (escaped || cmd[i] != cmd[1]); i++ {
			escaped = !escaped && cmd[i] == '\\'
		}
	}
	if i >= len(cmd) {
		return
	}
	flags, file, writes := strings.Cut(cmd[i+1:], "w")
	if strings.Contains(flags, "e") {
		c.Unresolved = append(c.Unresolved, Shorten(f.Text))
	}
	if writes && strings.TrimSpace(file) != "" {
		s.Touch(argv.Field{Text: strings.TrimSpace(file)}, collect.AccessWrite)
	}
}
