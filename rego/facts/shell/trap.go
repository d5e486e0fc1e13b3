package shell

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
)

func trap(s *Shell, in Invocation) bool {
	if len(in.Words) > 2 && len(in.Words[1].Text) > 1 && in.Words[1].Text[0] == '-' && strings.Trim(in.Words[1].Text, "-lpP") != "" {
		s.Found.Fail("shell: a trap whose command begins like an option: %s", in.Words[1].Text)
	}
	o := argv.ParseOptions(in.Words[1:], "", "")
	if len(o.Operands) > 1 && o.Operands[0].Text != "-" && o.Operands[0].Text != "" {
		t := o.Operands[0]
		s.Found.Beside = true
		s.traps = append(slices.Clip(s.traps), t)
		s.springs(t)
	}
	return false
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
