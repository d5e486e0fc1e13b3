package shell

import (
	"path"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// VERSION=$(jq -r .version package.json) is text that a file of the project holds
// (OriginText). What reads it as code, as sed does in "s/x/$VERSION/" and the shell in
// arithmetic, runs no more than a build of the project would. That is no longer so where
// the line has written the file, or where its own words decide what is printed.

// fileOrigin is where the content of a file comes from.
func (s *Shell) fileOrigin(f argv.Field) argv.Origin {
	if !f.Sure() || f.Stdin || s.Remote || s.Wild || len(s.Dirs) != 1 || f.Text == "" || strings.HasPrefix(f.Text, "~") {
		return argv.OriginAny
	}
	clean := collect.JoinAny(s.Dirs[0], f.Text)
	if f.Glob {
		clean = path.Dir(clean[:strings.IndexAny(clean+"*", "*?[{")] + "x")
	}
	x := s.Found
	if x.Beside || s.putsInto(f.Text) {
		return argv.OriginAny
	}
	if !x.Project(clean, false) || collect.Classify(collect.JoinAny(s.Dirs[0], f.Text), collect.AccessRead) != "" || x.Overwrites(clean, true) ||
		x.Version(collect.FileKey(clean)) != 0 || x.Scatters || x.Linked || x.Fetches != collect.FetchNone && x.Places {
		return argv.OriginAny
	}
	return argv.OriginText
}

// putsInto reports whether the text at hand sends anything to a file, before or behind
// where it stands: parts of a pipe run beside each other.
func (s *Shell) putsInto(name string) bool {
	for rest := s.Src; ; {
		i := strings.IndexByte(rest, '>')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		if strings.HasPrefix(strings.TrimLeft(rest, ">|& \t\"'./"), strings.TrimLeft(name, "./")) {
			return true
		}
	}
	return false
}
