package undo

import (
	"path"
	"strings"
)

// plainKeys are settings of git that make no program run, as patterns: a section, for a
// subsection a star, and a name.
const plainKeys = `
core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode core.symlinks
core.autocrlf core.eol core.abbrev core.longpaths core.quotepath core.sparsecheckout core.sparsecheckoutcone core.untrackedcache
extensions.objectformat extensions.partialclone extensions.worktreeconfig extensions.refstorage index.version index.sparse
user.name user.email init.defaultbranch push.default push.autosetupremote push.followtags pull.rebase pull.ff merge.conflictstyle
fetch.prune rebase.autosquash rebase.autostash commit.gpgsign tag.gpgsign rerere.enabled gc.auto advice.* color.* color.*.* column.* log.date status.short
remote.*.fetch remote.*.url remote.*.pushurl remote.*.tagopt remote.*.prune remote.*.promisor remote.*.partialclonefilter remote.pushdefault
branch.*.remote branch.*.merge branch.*.rebase branch.*.pushremote branch.*.description branch.autosetupmerge branch.autosetuprebase
submodule.*.url submodule.*.active submodule.*.branch submodule.active submodule.recurse lfs.repositoryformatversion lfs.*.access
`

// plainGitConfig reports whether a configuration of git's sets nothing that makes programs
// run, or sends git elsewhere by a helper, beyond what the old one does. What it cannot
// read is not plain. module says that it is a submodule's: that names its working folder.
func plainGitConfig(old, now []byte, module bool) bool {
	before := map[gitSetting]bool{}
	for _, e := range gitSettings(string(old)) {
		before[e] = true
	}
	for _, e := range gitSettings(string(now)) {
		if !e.plain() && !before[e] && !(module && e.key == "core.worktree") {
			return false
		}
	}
	return true
}

// A gitSetting is one line of a configuration, below its section. Its key is in lower case,
// but for a subsection.
type gitSetting struct {
	key, value string
	odd        bool // not read for sure
}

// gitSettings reads a configuration, up to a section that is not understood: the rest is
// one odd setting.
func gitSettings(text string) (list []gitSetting) {
	section := ""
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			var ok bool
			if section, line, ok = gitSection(line); !ok {
				return append(list, gitSetting{value: text, odd: true})
			}
		}
		text = rest
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		list = append(list, gitSetting{
			key: section + "." + strings.ToLower(strings.TrimSpace(name)), value: strings.TrimSpace(value),
			odd: section == "" || strings.ContainsAny(line, "\\\x00\r") || strings.Count(value, `"`)%2 != 0,
		})
	}
	return list
}

// gitSection reads the head of a section, and returns what follows on its line. In a
// subsection slashes are written as another sign, for patterns.
func gitSection(line string) (section, rest string, ok bool) {
	head, rest, ok := strings.Cut(line[1:], "]")
	name, sub, has := strings.Cut(head, " ")
	section = strings.ToLower(name)
	if has {
		sub = strings.TrimSpace(sub)
		ok = ok && len(sub) > 1 && sub[0] == '"' && sub[len(sub)-1] == '"' && !strings.ContainsAny(sub, "\\\x00\r") && strings.Count(sub, `"`) == 2
		section += "." + strings.ReplaceAll(strings.Trim(sub, `"`), "/", "|")
	}
	return section, strings.TrimSpace(rest), ok
}

// plain reports whether a setting makes no program run. A value may name a helper's own
// protocol, or be read as an option.
func (e gitSetting) plain() bool {
	if e.odd || strings.Contains(e.value, "::") || strings.HasPrefix(strings.Trim(e.value, `"`), "-") {
		return false
	}
	for pattern := range strings.FieldsSeq(plainKeys) {
		if ok, _ := path.Match(pattern, e.key); ok {
			return true
		}
	}
	return false
}
