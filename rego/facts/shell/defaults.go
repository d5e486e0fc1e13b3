package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/environ"
	"github.com/holdgate/holdgate/rego/facts/grammar"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// ${PORT:-8080} is 8080, unless whoever started the agent has set it otherwise. A line
// is read with its defaults. The words that are made of one say so (Assumed), and they
// count as not known where the difference would be grave: as a program, as code, and
// where something is deleted.

// setElsewhere are variables that every environment sets, or that name what runs.
const setElsewhere = "PATH HOME PWD OLDPWD USER LOGNAME SHELL TERM LANG TMPDIR TMP TEMP GOPATH GOROOT VIRTUAL_ENV HOSTNAME UID EUID PPID IFS ENV EDITOR VISUAL PAGER BROWSER DISPLAY XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR SSH_AUTH_SOCK SUDO_USER KUBECONFIG"

var (
	plainDefault   = lazyregexp.New(`^[\w./:@%+,=][\w./:@%+,= -]*$|^$`)
	secretVariable = lazyregexp.New(`(?i)(token|secret|passw(or)?d|pwd|api_?key|credentials?|_key|_dsn)$`)
)

// byDefault is what a parameter stands for that the line does not set, where it has a
// plain default.
func (s *Shell) byDefault(p *syntax.ParamExp) (string, bool) {
	if p.Param == nil || p.Exp == nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 ||
		p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || s.Wild || s.Remote || s.zsh {
		return "", false
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
	default:
		return "", false
	}
	name := p.Param.Value
	_, assigned := s.Vars[name]
	positional := len(name) == 1 && name[0] >= '1' && name[0] <= '9' && s.params == nil && s.args == nil && len(s.calling) == 0
	if !positional && (assigned || !grammar.IsVariable(name) || wordlist.Has(setElsewhere, name) || environ.Steers(name) || secretVariable.MatchString(name)) {
		return "", false
	}
	if p.Exp.Word == nil {
		return "", true
	}
	f := s.silently(p.Exp.Word)
	return f.Text, f.Known() && plainDefault.MatchString(f.Text) && !strings.Contains(f.Text, "..")
}

// assume expands a parameter to its default.
func (s *Shell) assume(b *wordBuilder, p *syntax.ParamExp, text string, q quoting) {
	written := s.written(p)
	s.nested(p)
	if op := p.Exp.Op; (op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull) && !s.Quiet {
		s.Set(p.Param.Value, Variable{Values: []string{text}, Known: true, assumed: []string{written}})
	}
	b.cur.Assumed = append(slices.Clip(b.cur.Assumed), written)
	switch {
	case q.splits && s.splitsAnywhere():
		b.dynamic(written, argv.OriginAny, false, q)
	case q.splits:
		s.splitValues(b, []string{text})
	default:
		b.add(text)
	}
}

// assumedOf are the parts of a parameter's value that the environment may change.
func (s *Shell) assumedOf(name string) []string {
	if name == "@" || name == "*" {
		var all []string
		for _, f := range s.args {
			all = append(all, f.Assumed...)
		}
		return all
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		if n := int(name[0] - '0'); n <= len(s.args) {
			return s.args[n-1].Assumed
		}
		return nil
	}
	return s.Vars[name].assumed
}

// The folder that a script lies in, as scripts find it out; and one that is seen from
// there.
var (
	scriptFolder = lazyregexp.New(`^\$\(dirname (?:-- )?"?\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?(?::-\$0)?\})"?\)((?:/[\w.-]+)*)/?$|^\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}((?:/[\w.-]+)*)/?$`)
	folderGoneTo = lazyregexp.New(`^\$\(\s*cd (?:-P |-- )?"?(.*?)"?(?: >\s*/dev/null(?: 2>&1)?)? && pwd(?: -P)?\s*\)((?:/[\w.-]+)*)/?$`)
	folderHeld   = lazyregexp.New(`^\$\{?(\w+)\}?((?:/[\w.-]+)*)/?$`)
)

// place is the path of a folder that a word names, from the folder in which the script at
// hand lies: "." for that folder itself. It is empty where a word names no such folder.
func (s *Shell) place(text string) string {
	if m := scriptFolder.FindStringSubmatch(text); m != nil {
		return "." + m[1] + m[2]
	}
	if m := folderGoneTo.FindStringSubmatch(text); m != nil {
		if at := s.place(m[1]); at != "" {
			return at + m[2]
		}
		return ""
	}
	if m := folderHeld.FindStringSubmatch(text); m != nil && s.Vars[m[1]].place != "" {
		return s.Vars[m[1]].place + m[2]
	}
	return ""
}
