package facts

import (
	"path"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/programs"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

var (
	// runsAlone is a script of package.json that runs when packages are installed.
	runsAlone = lazyregexp.New(`"(pre|post)install"\s*:`)
	// wholeProvenance are files of which nothing else is expected that says where packages come from.
	wholeProvenance = lazyregexp.New(`(?i)requirements.*\.(txt|in)$|^constraints\.txt$|^(gradle|maven)-wrapper\.properties$`)
)

// edited notes the file whose text an editing tool replaces.
func edited(x *collect.Findings, kind toolKind, args map[string]any, dir string) {
	var file, before, after, whole string
	written := false
	for k, v := range args {
		text, _ := v.(string)
		switch n := normal(k); {
		case n == "oldstring" || n == "oldstr" || n == "oldtext":
			before = text
		case n == "newstring" || n == "newstr" || n == "newtext":
			after = text
		case wordlist.Has("content contents filetext filecontent newcontent codeedit", n):
			whole = text
			_, written = v.(string)
		case kind.role(k) == rolePath:
			file = text
		}
	}
	steers := after != before && shell.ChangesProvenance(file, after) || strings.ToLower(path.Base(file)) != "package.json" && shell.ChangesProvenance(file, whole) && wholeProvenance.MatchString(path.Base(file)) ||
		strings.ToLower(path.Base(file)) == "package.json" && runsAlone.MatchString(whole)
	if file != "" && written && strings.TrimSpace(whole) == "" && kind.access == collect.AccessWrite {
		sh := shell.New(x, dir, programs.Table())
		sh.Touch(argv.Field{Text: file}, sh.Replaces(argv.Field{Text: file}, shell.ContentNothing))
	}
	if file != "" && steers {
		x.Path(collect.Ref{Text: file, Access: collect.AccessWrite, Dirs: collect.DirsOf(dir), Reach: collect.ReachOrigin})
	}
}
