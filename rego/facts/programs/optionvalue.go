package programs

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// flags are, by program, options that take no value, or have it glued to them. Behind any
// other option a word is perhaps its value and no option itself: git log -S --grep "$x"
// looks for "--grep", and what $x says is an option of the agent's.
var flags = map[string]*lazyregexp.Regexp{
	"git":  lazyregexp.New(`^-[0-9]+$|^-[aqsveipuwz]{1,3}$|^--(all|oneline|no-merges|merges|amend|no-edit|no-verify|allow-empty|allow-empty-message|signoff|quiet|verbose|stat|name-only|name-status|reverse|graph|decorate|patch|no-patch|follow|first-parent|annotate|no-ff|no-color|branches|tags|remotes|include-untracked|keep-index|staged|cached|force|no-pager)$`),
	"grep": lazyregexp.New(`^-[rRnilLcohHqsvwxEFPzaI]+$|^--(recursive|ignore-case|line-number|count|files-with-matches|files-without-match|only-matching|no-filename|with-filename|quiet|silent|no-messages|invert-match|word-regexp|line-regexp|extended-regexp|fixed-strings|perl-regexp|text)$`),
	"head": lazyregexp.New(`^-[qvz]+$`), "tail": lazyregexp.New(`^-[qvzfFr]+$`),
	"cut": lazyregexp.New(`^-[sz]+$|^-[dfcb].+$`), "wc": lazyregexp.New(`^-[clmLw]+$`),
	"awk":    lazyregexp.New(`^-[Fv].+$`),
	"cargo":  lazyregexp.New(`^-[vqr]+$|^--(release|workspace|all|lib|bins|tests|examples|benches|all-targets|all-features|no-default-features|locked|offline|frozen|no-fail-fast|quiet|verbose|no-run|doc)$`),
	"npm":    lazyregexp.New(`^-(s|r|ws|v|q|x|i|u|vv)$|^--(silent|recursive|if-present|workspaces|frozen-lockfile|offline|parallel|stream|watch|ci|verbose|coverage|no-coverage|bail|runInBand|passWithNoTests|headed|debug|run|no-cov|quiet|trace|stale|watchAll)$`),
	"docker": lazyregexp.New(`^-q$|^--(no-cache|pull|quiet|load|push|rm|squash|force-rm)$`),
}

// sharesFlags are programs whose flags another one's entry tells.
var sharesFlags = map[string]string{
	"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "gawk": "awk", "mawk": "awk",
	"podman": "docker", "nerdctl": "docker", "buildah": "docker",
	"pnpm": "npm", "yarn": "npm", "bun": "npm", "turbo": "npm", "nx": "npm", "lerna": "npm", "pytest": "npm", "jest": "npm", "vitest": "npm",
	"mocha": "npm", "playwright": "npm", "mix": "npm", "swift": "npm", "python": "npm", "python3": "npm",
}

// handOn are programs that hand on what stands behind "--".
const handOn = "npm pnpm yarn bun turbo nx lerna cargo"

// isOption reports whether the word at is read as an option if it looks like one, and not
// as the value of the word before it.
func isOption(name string, words []argv.Field, at int) bool {
	if at < 2 {
		return true
	}
	before := words[at-1]
	switch {
	case before.Text == "--":
		return wordlist.Has(handOn, name)
	case !before.Known() && strings.HasPrefix(before.Text, "$"): // the value of one, or asked about by itself
		return at > 2 && strings.HasPrefix(words[at-2].Text, "-") && isOption(name, words, at-2)
	case !strings.HasPrefix(before.Text, "-"), strings.HasPrefix(before.Text, "--") && strings.Contains(before.Text, "="):
		return true
	}
	if shared, ok := sharesFlags[name]; ok {
		name = shared
	}
	plain := flags[name]
	return plain != nil && plain.MatchString(before.Text) && isOption(name, words, at-1)
}
