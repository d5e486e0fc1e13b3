package programs

import (
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/shell"
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
func gitOption(s *shell.Shell, f argv.Field, c *holdgate.Command) {
	key, _, _ := strings.Cut(f.Text, "=")
	if !harmlessGitKey(key) && !gitConfig(s, f, c) {
		c.Unresolved = append(c.Unresolved, "-c "+key)
	}
}

// gitConfig follows what a setting would run, and reports whether it is one that
// could run something.
func gitConfig(s *shell.Shell, f argv.Field, c *holdgate.Command) bool {
	key, value, ok := strings.Cut(f.Text, "=")
	if !ok {
		return false
	}
	key = strings.ToLower(key)
	via := shell.Invocation{Via: []string{"git -c " + key}}
	run := argv.Field{Text: value, Dynamic: f.Dynamic}
	switch {
	case strings.HasPrefix(key, "alias."):
		if code, ok := strings.CutPrefix(value, "!"); ok {
			s.CodeText(argv.Field{Text: code, Dynamic: f.Dynamic}, via)
			return true
		}
		s.CodeText(argv.Field{Text: "git " + value, Dynamic: f.Dynamic}, via)
	case key == "core.hookspath" || key == "include.path" || key == "core.attributesfile":
		c.Unbound = append(c.Unbound, value)
	case wordlist.Has(gitCode, key), strings.HasPrefix(key, "filter."), strings.HasPrefix(key, "difftool."), strings.HasPrefix(key, "mergetool."),
		strings.HasPrefix(key, "merge.") && strings.HasSuffix(key, ".driver"), strings.HasPrefix(key, "diff.") && strings.HasSuffix(key, ".command"), strings.HasPrefix(key, "diff.") && strings.HasSuffix(key, ".textconv"),
		strings.HasPrefix(key, "credential.") && strings.HasSuffix(key, ".helper"), strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, "pack"), strings.HasPrefix(key, "pager."):
		run.Text = strings.TrimPrefix(run.Text, "!")
		if wordlist.Has("true false auto never always", run.Text) || run.Text == "" {
			return true
		}
		if program, _, _ := strings.Cut(run.Text, " "); strings.Contains(program, "/") && !collect.SystemProgram(program) {
			return false // one that only this run of git is to have
		}
		s.CodeText(run, via)
	default:
		return false
	}
	return true
}
