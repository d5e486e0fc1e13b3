package facts

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// gitCode are the configuration keys whose value git runs. Aliases run too
// where they start with "!".
const gitCode = "core.pager core.editor core.sshcommand core.fsmonitor core.askpass core.gitproxy diff.external sequence.editor gpg.program gpg.ssh.program credential.helper pager.log pager.diff pager.show pager.status interactive.difffilter ssh.variant web.browser init.templatedir"

// gitHarmless begin the configuration keys that run nothing, and lead git to no
// other place.
const gitHarmless = "user. pull. push.default push.autosetupremote color. advice. rebase. rerere. merge.conflictstyle fetch.prune commit.verbose core.autocrlf core.eol core.filemode core.ignorecase core.longpaths core.quotepath core.whitespace core.abbrev init.defaultbranch diff.algorithm diff.renames diff.colormoved diff.context log. status. column. grep. i18n. format.pretty submodule.recurse gc.auto commit.gpgsign tag.gpgsign"

func harmlessGitKey(key string) bool {
	key = strings.ToLower(key)
	for beginning := range strings.FieldsSeq(gitHarmless) {
		if key == beginning || strings.HasSuffix(beginning, ".") && strings.HasPrefix(key, beginning) {
			return true
		}
	}
	return false
}

// gitOption is a setting for one run of git. What is neither known to be harmless
// nor to run something can't be seen.
func (s *shell) gitOption(f field, c *Command) {
	key, _, _ := strings.Cut(f.text, "=")
	if !harmlessGitKey(key) && !s.gitConfig(f, c) {
		c.Unresolved = append(c.Unresolved, "-c "+key)
	}
}

// gitConfig follows what a setting would run, and reports whether it is one that
// could run something.
func (s *shell) gitConfig(f field, c *Command) bool {
	key, value, ok := strings.Cut(f.text, "=")
	if !ok {
		return false
	}
	key = strings.ToLower(key)
	via := invocation{via: []string{"git -c " + key}}
	run := field{text: value, dynamic: f.dynamic}
	switch {
	case strings.HasPrefix(key, "alias."):
		if code, ok := strings.CutPrefix(value, "!"); ok {
			s.codeText(field{text: code, dynamic: f.dynamic}, via)
			return true
		}
		s.codeText(field{text: "git " + value, dynamic: f.dynamic}, via)
	case key == "core.hookspath" || key == "include.path" || key == "core.attributesfile":
		c.Unbound = append(c.Unbound, value)
	case wordlist.Has(gitCode, key), strings.HasPrefix(key, "filter."), strings.HasPrefix(key, "difftool."), strings.HasPrefix(key, "mergetool."),
		strings.HasPrefix(key, "merge.") && strings.HasSuffix(key, ".driver"), strings.HasPrefix(key, "diff.") && strings.HasSuffix(key, ".command"), strings.HasPrefix(key, "diff.") && strings.HasSuffix(key, ".textconv"),
		strings.HasPrefix(key, "credential.") && strings.HasSuffix(key, ".helper"), strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, "pack"), strings.HasPrefix(key, "pager."):
		run.text = strings.TrimPrefix(run.text, "!")
		if wordlist.Has("true false auto never always", run.text) || run.text == "" {
			return true
		}
		if program, _, _ := strings.Cut(run.text, " "); strings.Contains(program, "/") && !collect.SystemProgram(program) {
			return false // one that only this run of git is to have
		}
		s.codeText(run, via)
	default:
		return false
	}
	return true
}
