package argv

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// plainRevision are options of git rev-parse with which it prints revisions, or the paths
// of the repository.
var plainRevision = lazyregexp.New(`^(--short(=[0-9]+)?|--verify|-q|--quiet|--revs-only|--abbrev-ref|--symbolic-full-name|--show-toplevel|--git-dir|--absolute-git-dir|--show-prefix|--show-cdup|--is-inside-work-tree|--is-shallow-repository|--show-superproject-working-tree)$`)

// revisionText is what names a revision. git rev-parse prints what names none as it is.
var revisionText = lazyregexp.New(`^[\w./@{}^~:+,=-]+$`)

// plainGit are, by the subcommand of git, options that take no further word and add nothing
// to what it prints but hashes, times, names of references and what its format says.
var plainGit = map[string]*lazyregexp.Regexp{
	"log":      lazyregexp.New(picking + `|^-s$|^--(no-patch|no-color|follow|date=.*|format=.*|pretty=.*)$`),
	"show":     lazyregexp.New(`^(-s|--(no-patch|no-color|date=.*|format=.*|pretty=.*))$`),
	"rev-list": lazyregexp.New(picking + `|^--count$`),
	"describe": lazyregexp.New(`^--(tags|always|all|long|exact-match|first-parent|dirty|contains|(abbrev|candidates|match|exclude)=.*)$`),
	"tag":      lazyregexp.New(`^(-l|--list|--(sort|contains|no-contains|merged|no-merged|points-at)=.*)$`),
}

// picking are options of git that pick commits.
const picking = `^-[0-9]+$|^-n[0-9]+$|^-i$|^-[SG].+$|^--(all|branches|tags|remotes|merges|no-merges|reverse|first-parent|no-walk|topo-order|date-order|ancestry-path|full-history|simplify-by-decoration|(max-count|skip|since|until|after|before|author|committer|grep|diff-filter|abbrev|branches|tags|remotes|exclude|glob)=.*)$`

// takeNext are options of git that take the next word, whatever it says.
var takeNext = map[string]string{
	"log":      "-n -S -G --max-count --skip --since --until --after --before --author --committer --grep",
	"show":     "",
	"rev-list": "-n --max-count --skip --since --until --after --before --author --committer --grep",
	"describe": "--match --exclude",
	"tag":      "--contains --no-contains --merged --no-merged --points-at",
}

// PlainGit reports whether a subcommand of git prints nothing but what plainGit says, and
// in which format it does. What is not known must be a value, or stand where git takes
// it for one: an option that is the value of the one before is none.
func PlainGit(args []Field) (format string, plain bool) {
	if len(args) == 0 || plainGit[args[0].Text] == nil {
		return "", false
	}
	verb, quiet := args[0].Text, args[0].Text != "show"
	for i := 1; i < len(args); i++ {
		w := args[i]
		key, value, _ := strings.Cut(w.Text, "=")
		switch {
		case w.Known() && w.Text == "--":
			return format, quiet
		case w.Known() && wordlist.Has(takeNext[verb], w.Text):
			if i++; i == len(args) || args[i].Bare && !args[i].Known() && args[i].Origin < OriginValue {
				return "", false
			}
		case !strings.HasPrefix(w.Text, "-"):
			if !w.Known() && w.Origin < OriginValue {
				return "", false
			}
		case !plainGit[verb].MatchString(w.Text), !w.Known() && (w.Bare || !strings.HasPrefix(w.Text, "--")):
			return "", false // what is empty makes -S take the next word
		case key == "--format" || key == "--pretty":
			format = value
		case w.Text == "-s" || w.Text == "--no-patch":
			quiet = true
		}
	}
	return format, quiet
}

// gitOrigin is what git prints that reads its repository.
func gitOrigin(args []Field) Origin {
	if len(args) > 2 && args[0].Text == "-C" {
		args = args[2:]
	}
	if len(args) == 0 {
		return OriginAny
	}
	o := ParseOptions(args[1:], "", "")
	format, plain := PlainGit(args)
	switch args[0].Text {
	case "rev-parse":
		return revisionOrigin(args[1:], o)
	case "merge-base", "hash-object":
		return OriginAtom
	case "rev-list":
		if plain {
			return OriginAtom
		}
	case "branch":
		if o.Has("", "show-current") {
			return OriginValue
		}
	case "symbolic-ref":
		return OriginValue
	case "describe", "tag":
		if plain {
			return OriginValue
		}
	case "log", "show":
		if plain && wordlist.Has("%H %h %T %ct %at %cs", format) {
			return OriginAtom
		}
	case "for-each-ref":
		unknown := func(w Field) bool { return !w.Known() && w.Origin < OriginValue }
		if f := o.Values("", "format"); len(f) > 0 && !slices.ContainsFunc(args, unknown) && wordlist.Has("%(refname:short) %(refname) %(objectname) %(objectname:short)", f[len(f)-1].Text) {
			return OriginValue
		}
	case "ls-files", "ls-tree":
		if o.Has("", "format") || o.Has("oi", "others") && !o.Has("", "exclude-standard") || o.Has("i", "ignored") {
			return OriginAny
		}
		return OriginNames
	case "diff":
		if o.Has("", "name-only") {
			return OriginNames
		}
	}
	for _, f := range append(o.Values("", "format"), o.Values("", "pretty")...) {
		if !plainFormat.MatchString(f.Text) {
			return OriginAny
		}
	}
	if wordlist.Has("status show diff log rev-list blame shortlog config remote", args[0].Text) {
		return OriginText
	}
	return OriginAny
}

// revisionOrigin is what git rev-parse prints: words that name no revision as they are.
func revisionOrigin(args []Field, o Options) Origin {
	if slices.ContainsFunc(args, func(w Field) bool {
		switch {
		case !w.Known():
			return w.Origin < OriginValue
		case strings.HasPrefix(w.Text, "-"):
			return !plainRevision.MatchString(w.Text)
		}
		return !revisionText.MatchString(w.Text)
	}) {
		return OriginAny
	}
	switch {
	case o.Has("", "show-prefix"), o.Has("", "show-cdup"):
		return OriginNames
	case o.Has("", "show-toplevel"), o.Has("", "git-dir"), o.Has("", "abbrev-ref"), o.Has("", "symbolic-full-name"):
		return OriginValue
	}
	return OriginAtom
}
