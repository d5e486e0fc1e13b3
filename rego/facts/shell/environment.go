package shell

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/environ"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// environment notes what the assignments before a command make it run
// besides, and keeps what export and its like hand to later commands.
func (s *Shell) environment(in *Invocation) {
	for _, a := range in.Assigns {
		s.RunsValue(a, in.Via)
	}
	name := in.Words[0].Text
	if !wordlist.Has("export declare typeset", name) {
		return
	}
	flags := ""
	for _, w := range in.Words[1:] {
		if strings.HasPrefix(w.Text, "-") {
			flags += w.Text
			continue
		}
		if name != "export" && !strings.Contains(flags, "x") && !w.Steers() {
			continue
		}
		if strings.Contains(flags, "n") && name == "export" {
			s.unexport(w.Text)
			continue
		}
		s.RunsValue(w, in.Via)
		s.Export(s.exported(w))
	}
}

// exported is a word of export as an assignment: a name alone stands for what
// the variable holds.
func (s *Shell) exported(w argv.Field) argv.Field {
	v, assigned := s.Vars[w.Text]
	switch {
	case argv.IsAssignment(w) || !assigned:
		return w
	case v.Known && len(v.Values) > 0:
		return argv.Field{Text: w.Text + "=" + v.Values[0], Assumed: v.assumed}
	}
	return argv.Field{Text: w.Text + "=$" + w.Text, Dynamic: []string{"$" + w.Text}, Origin: v.origin}
}

// lasting notes an assignment that holds from here on.
func (s *Shell) lasting(a argv.Field) {
	s.RunsValue(a, nil)
	name, _, _ := strings.Cut(a.Text, "=")
	if s.exportsAll || a.Steers() || slices.ContainsFunc(s.Env, func(e argv.Field) bool { return strings.HasPrefix(e.Text, name+"=") }) {
		s.Export(a)
	}
}

// Export hands a variable to all later commands. In a branch, its value may
// be the one or the other.
func (s *Shell) Export(a argv.Field) {
	name, _, ok := strings.Cut(a.Text, "=")
	if !ok || name == "" {
		return
	}
	if s.conditional > 0 && a.Known() && slices.ContainsFunc(s.Env, func(e argv.Field) bool { return strings.HasPrefix(e.Text, name+"=") && e.Text != a.Text }) {
		a.Dynamic = []string{"$" + name}
	}
	s.Env = s.Overlaid(s.Env, a)
}

func (s *Shell) unexport(name string) {
	s.Env = slices.DeleteFunc(slices.Clone(s.Env), func(e argv.Field) bool { return strings.HasPrefix(e.Text, name+"=") })
}

// Overlaid is a list of assignments in which a later one takes the place of
// an earlier one of the same name, unless it builds on that one
// (PATH=/x:$PATH). The list itself stays as it is.
func (s *Shell) Overlaid(list []argv.Field, more ...argv.Field) []argv.Field {
	out := slices.Clone(list)
	for _, a := range more {
		s.Found.Work(len(out) / 8)
		name, value, ok := strings.Cut(a.Text, "=")
		if !ok {
			continue
		}
		if strings.Contains(value, "$"+name) || strings.Contains(value, "${"+name) {
			out = append(out, a)
			continue
		}
		out = slices.DeleteFunc(out, func(e argv.Field) bool { return strings.HasPrefix(e.Text, name+"=") })
		out = append(out, a)
	}
	return out
}

// variables are the assignments of the environment as facts.
func variables(env []argv.Field) []holdgate.Variable {
	var out []holdgate.Variable
	for _, a := range env {
		name, value, _ := strings.Cut(a.Text, "=")
		out = append(out, holdgate.Variable{Name: name, Value: value, Unresolved: !a.Known()})
	}
	return out
}

// RunsValue follows the shell text that a variable holds for other programs.
func (s *Shell) RunsValue(a argv.Field, via []string) {
	name, value, ok := strings.Cut(a.Text, "=")
	if ok && value != "" && environ.RunsText(name) {
		s.Sub(append(slices.Clip(via), name)...).made(value, argv.Dynamics([]argv.Field{a}))
	}
}
