package shell

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

func trap(s *Shell, in Invocation) bool {
	if len(in.Words) > 2 && len(in.Words[1].Text) > 1 && in.Words[1].Text[0] == '-' && strings.Trim(in.Words[1].Text, "-lpP") != "" {
		s.Found.Fail("shell: a trap whose command begins like an option: %s", in.Words[1].Text)
	}
	o := argv.ParseOptions(in.Words[1:], "", "")
	if len(o.Operands) > 1 && o.Operands[0].Text != "-" && o.Operands[0].Text != "" {
		t := o.Operands[0]
		s.Found.Beside = true
		if slices.ContainsFunc(o.Operands[1:], springsAnywhere) && trapAssigns.MatchString(trapCounts.ReplaceAllString(s.calledBy(t.Text), "")) {
			s.Found.Fail("shell: a trap that assigns between any two commands: %s", t.Text)
		}
		s.traps = append(slices.Clip(s.traps), t)
		s.springs(t)
	}
	return false
}

// springsAnywhere reports whether a condition of a trap may hold between any two commands.
func springsAnywhere(f argv.Field) bool {
	return !f.Known() || wordlist.Has("DEBUG ERR RETURN ZERR SIGDEBUG SIGERR SIGRETURN SIGZERR", strings.ToUpper(f.Text))
}

var (
	trapAssigns = lazyregexp.New(`(^|[\s;{(&|])[A-Za-z_]\w*(\[[^\]]*\])?\+?=|\b(read|printf\s+-v|declare|typeset|export|readonly|local|unset|mapfile|readarray|let|eval|source)\b|\(\(`)
	trapCounts  = lazyregexp.New(`\b\w+=(\$\?|\$LINENO|[0-9]+)([\s;]|$)`)
)

// calledBy is a trap's text with those of the functions that it may call.
func (s *Shell) calledBy(text string) string {
	all := text
	for name, f := range s.funcs {
		if from, to := int(f.body.Pos().Offset()), int(f.body.End().Offset()); strings.Contains(text, name) && to <= len(f.src) {
			all += "\n" + f.src[from:to]
		}
	}
	return all
}

// springs walks a trap's text as it would run now.
func (s *Shell) springs(t argv.Field) {
	sub := s.Sub("trap")
	sub.traps = nil
	if !t.Known() && t.Origin >= argv.OriginAtom && !t.Runs { // numbers, which are read again as the variables that they are of
		t.Dynamic = nil
	}
	sub.made(t.Text, argv.Dynamics([]argv.Field{t}))
}

// trapsChange walks the traps again that a variable changes which has just
// been assigned.
func (s *Shell) trapsChange(name string) {
	if s.Quiet {
		return
	}
	for _, t := range s.traps {
		if s.hangsOn(t.Text, name, 0) {
			s.springs(t)
		}
	}
}

// hangsOn reports whether a text, or a function that it may call, holds a
// name.
func (s *Shell) hangsOn(text, name string, depth int) bool {
	if strings.Contains(text, name) || depth > 2 {
		return true
	}
	for called, f := range s.funcs {
		s.Found.Tick()
		from, to := int(f.body.Pos().Offset()), int(f.body.End().Offset())
		if strings.Contains(text, called) && to <= len(f.src) && s.hangsOn(f.src[from:to], name, depth+1) {
			return true
		}
	}
	return false
}
