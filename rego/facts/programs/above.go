package programs

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/shell"
)

// into touches the folder that files are put into, as far as what is put there
// steers what runs later: by its own name, or by those of the files.
func into(s *shell.Shell, in shell.Invocation, dir argv.Field, files []argv.Field) {
	if collect.Classify(dir.Text, collect.AccessWrite) == collect.ClassPersistence {
		return // by its own name
	}
	s.Reaching(collect.ReachBeneath, func() {
		if len(files) == 0 || path.Base(dir.Text) == ".git" {
			use(s, in, dir, collect.AccessWrite)
			return
		}
		for _, f := range files {
			base := path.Base(f.Text)
			if !f.Known() || f.Glob || strings.HasSuffix(f.Text, "/.") || base == "." || base == ".." {
				use(s, in, dir, collect.AccessWrite)
				return
			}
			if name := path.Join(dir.Text, base); collect.Classify(name, collect.AccessWrite) == collect.ClassPersistence {
				use(s, in, argv.Field{Text: name, Dynamic: dir.Dynamic}, collect.AccessWrite)
			}
		}
	})
}

// huntedText begins credentials, or is what people look for who look for them.
var huntedText = lazyregexp.New(`(?i)AKIA|ASIA\[|sk[_-](live|test|ant|proj)|gh[pousr]_|github_pat|glpat-|xox[a-z\[]|PRIVATE.?KEY|BEGIN .*KEY|aws_secret|secret_access_key|eyJhbGci`)

// huntedWord is what stands beside credentials: to look for it in many files outside of
// the project is to look for them.
var huntedWord = lazyregexp.New(`(?i)passw|secret|api.?key|credential`)

// readReach is how far a program reads that searches or packs folders.
func readReach(p operands.Program, o argv.Options, patterns []argv.Field) collect.Reach {
	narrowed := slices.ContainsFunc(slices.Concat(o.Values(p.Globs, "include"), o.Values("", "glob"), o.Values("", "type"), o.Values(p.Types, "")), func(f argv.Field) bool {
		return collect.Classify(f.Text, collect.AccessRead) != collect.ClassSecret && !strings.HasPrefix(f.Text, "!")
	})
	deep := p.Always || o.Has(p.Recursive, "") || p.Recursive != "" && (o.Has("", "recursive") || o.Has("", "dereference-recursive") || o.Has("", "archive") || o.Has("", "hidden"))
	switch {
	case slices.ContainsFunc(patterns, func(f argv.Field) bool { return huntedText.MatchString(f.Text) }):
		return collect.ReachHunt
	case deep && slices.ContainsFunc(patterns, func(f argv.Field) bool { return huntedWord.MatchString(f.Text) }):
		return collect.ReachHunt
	case deep && !narrowed:
		return collect.ReachBeneath
	}
	return collect.ReachOne
}

// shows reports whether a command prints no more of a file than its name, size and
// times, to nobody but the agent: a name that another command reads may be opened.
func shows(s *shell.Shell, name string) bool {
	switch name {
	case "test", "[":
		return true
	case "ls", "stat":
		return !s.Consumed && !strings.Contains(s.Src, "exec")
	}
	return false
}
